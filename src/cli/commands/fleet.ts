import type { FleetMember, FleetResponse } from '../../protocol/messages.ts';
import type { Command } from '../command.ts';
import { CONNECTION_OPTIONS, connect } from '../connection.ts';
import { present } from '../output.ts';
import { table } from '../table.ts';

export const fleet: Command = {
  summary: 'list the processes that share the store, and the revision that each has applied',
  options: CONNECTION_OPTIONS,
  examples: ['rdcp fleet'],
  run: async (terminal, values) => {
    const answer = await connect(terminal, values).fleet();
    present(terminal, values, answer, () => {
      const header = ['ID', 'HOST', 'PID', 'SERVICE', 'VERSION', 'APPLIED', 'BEHIND', 'LAST SEEN'];
      const rows = answer.instances.map((member) => rowOf(member, answer));
      terminal.show(table(terminal, header, rows));
      const { revision, instances } = answer;
      const applied = instances.filter(({ pending }) => !pending).length;
      terminal.out(`\nrevision ${revision}, applied by ${applied} of ${instances.length} processes`);
    });
    return 0;
  },
};

function rowOf(member: FleetMember, { revision, timestamp }: FleetResponse): string[] {
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
    applied === undefined ? (pending ? '?' : '-') : String(revision - applied),
    `${silent.toFixed(1)} s ago`,
  ];
}
