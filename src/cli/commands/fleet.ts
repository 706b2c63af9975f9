import type { FleetMember, FleetResponse } from '../../protocol/messages.ts';
import { type Command, UsageError } from '../command.ts';
import { CONNECTION_OPTIONS, connect } from '../connection.ts';
import { table } from '../table.ts';

export const fleet: Command = {
  summary: 'list the processes that share the store, and the revision that each has applied',
  options: CONNECTION_OPTIONS,
  run: async (terminal, values, operands) => {
    if (operands.length > 0) throw new UsageError('fleet takes no operands');
    const answer = await connect(terminal, values).fleet();
    if (values.json === true) {
      terminal.out(JSON.stringify(answer, undefined, 2));
      return 0;
    }
    const header = ['ID', 'HOST', 'PID', 'SERVICE', 'VERSION', 'APPLIED', 'BEHIND', 'LAST SEEN'];
    terminal.out(
      table(
        header,
        answer.instances.map((member) => rowOf(member, answer)),
      ),
    );
    const behind = answer.instances.filter(({ pending }) => pending).length;
    terminal.out(
      `\nrevision ${answer.revision}, applied by ${answer.instances.length - behind} of ${answer.instances.length} processes`,
    );
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
