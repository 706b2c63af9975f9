import type { FleetMember, FleetResponse } from '../../../wire/messages.ts';
import { nameSome } from '../../../wire/printable.ts';
import type { Command } from '../command.ts';
import { CONNECTION_OPTIONS, connect } from '../connection.ts';
import { ofServices } from '../each-service.ts';
import { present } from '../output.ts';

export const fleet: Command = ofServices({
  summary: 'list the processes that share the store, and the revision that each has applied',
  options: CONNECTION_OPTIONS,
  notes: [
    'BEHIND says silent for a process that is not heard of and did not shut down: it may be cut off, and go on as it was.',
    '-o wide adds the categories that not all processes have.',
  ],
  examples: ['rdcp fleet'],
  run: async (terminal, values) => {
    const answer = await connect(terminal, values).fleet();
    present(terminal, values, answer, (wide) => {
      const header = ['ID', 'HOST', 'PID', 'SERVICE', 'VERSION', 'APPLIED', 'BEHIND', 'LAST SEEN'];
      const { lost = [] } = answer;
      const rows = [...answer.instances, ...lost].map((member) => [
        ...rowOf(member, answer, lost.includes(member)),
        ...(wide ? [ownOf(member)] : []),
      ]);
      if (wide) header.push('NOT ALL HAVE');
      terminal.table(header, rows);
      const { revision, instances } = answer;
      const applied = instances.filter(({ pending }) => !pending).length;
      const length = instances.length + lost.length;
      const progress = length === 1 && applied === 1 ? '' : `, applied by ${applied} of ${length} processes`;
      terminal.out(`\nrevision ${revision}${progress}`);
    });
  },
});

/** Names of its categories that not all processes have. */
function ownOf({ categories }: FleetMember): string {
  return categories === undefined || categories.length === 0 ? '-' : nameSome(categories);
}

function rowOf(member: FleetMember, { revision, timestamp }: FleetResponse, isLost: boolean): string[] {
  const { id, host, pid, service, version, applied, pending, lastSeenAt } = member;
  const silent = Math.max(0, Date.parse(timestamp) - Date.parse(lastSeenAt)) / 1000;
  return [
    id,
    host,
    String(pid),
    service,
    version ?? '-',
    applied === undefined ? '-' : String(applied),
    // Without an applied revision the distance is unknown.
    isLost ? 'silent' : applied === undefined ? (pending ? '?' : '-') : String(revision - applied),
    `${silent.toFixed(1)} s ago`,
  ];
}
