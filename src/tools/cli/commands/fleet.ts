import type { FleetMember, FleetResponse } from '../../../wire/messages.ts';
import { nameSome } from '../../../wire/printable.ts';
import { appliedText } from '../../../wire/words/change.ts';
import type { Command } from '../command.ts';
import { CONNECTION_OPTIONS, connect } from '../connection.ts';
import { ofServices } from '../each-service.ts';
import { present } from '../output.ts';
import type { Column } from '../table.ts';

export const fleet: Command = ofServices({
  summary: 'list the processes that share the store, and the revision that each has applied',
  options: CONNECTION_OPTIONS,
  notes: [
    'BEHIND says silent for a process that is not heard of and did not shut down: it may be cut off, and go on as it was.',
    '-o wide adds their ids, and the categories that not all processes have.',
  ],
  examples: ['rdcp fleet'],
  run: async (terminal, values) => {
    const answer = await connect(terminal, values).fleet();
    present(terminal, values, answer, (wide) => {
      const { lost = [] } = answer;
      const columns = columnsOf(answer, wide, (member) => lost.includes(member));
      terminal.table([...answer.instances, ...lost], columns);
      const { revision, instances } = answer;
      const applied = instances.filter(({ pending }) => !pending).length;
      const length = instances.length + lost.length;
      terminal.out('');
      terminal.say(
        `revision ${revision}${length === 1 && applied === 1 ? '' : `, ${appliedText({ applied, instances: length })}`}`,
      );
    });
  },
});

/** Names of its categories that not all processes have. */
function ownOf({ categories }: FleetMember): string {
  return categories === undefined || categories.length === 0 ? '-' : nameSome(categories);
}

function columnsOf(
  { revision, timestamp }: FleetResponse,
  wide: boolean,
  isLost: (member: FleetMember) => boolean,
): Column<FleetMember>[] {
  const behind = (member: FleetMember) => {
    const { applied, pending } = member;
    if (isLost(member)) return 'silent';
    // Without an applied revision the distance is unknown.
    return applied === undefined ? (pending ? '?' : '-') : String(revision - applied);
  };
  const silent = (at: string) => Math.max(0, Date.parse(timestamp) - Date.parse(at)) / 1000;
  return [
    ['PROCESS', ({ host, pid }) => `${host}:${pid}`],
    wide && ['ID', ({ id }) => id],
    ['SERVICE', ({ service }) => service],
    ['VERSION', ({ version }) => version ?? '-'],
    ['APPLIED', ({ applied }) => String(applied ?? '-')],
    ['BEHIND', behind],
    ['LAST SEEN', ({ lastSeenAt }) => `${silent(lastSeenAt).toFixed(1)} s ago`],
    wide && ['NOT ALL HAVE', ownOf],
  ];
}
