import { setTimeout as sleep } from 'node:timers/promises';
import { isRdcpError } from '../../errors.ts';
import type { FleetResponse } from '../../protocol/messages.ts';
import { parseDuration } from '../../protocol/time.ts';
import { type Command, EXIT, UsageError } from '../command.ts';
import { CONNECTION_OPTIONS, connect } from '../connection.ts';
import { present } from '../output.ts';
import { duration } from '../times.ts';

const PAUSE_MS = 250;
const PATIENCE = '30s';

export const wait: Command = {
  summary: 'wait until every process of the fleet has applied a revision; exit code 3 if the time is over first',
  operands: '<revision>',
  options: {
    timeout: { type: 'string', value: '30s', help: `how long to wait (default: ${PATIENCE})` },
    ...CONNECTION_OPTIONS,
  },
  notes: ["The revision of a change is in its answer (otelrdcp_fleet.revision) and in 'rdcp fleet'."],
  examples: ['rdcp wait 42 --timeout 1m', `rdcp wait "$(rdcp enable DATABASE -o json | jq .otelrdcp_fleet.revision)"`],
  run: async (terminal, values, [operand = '']) => {
    if (!/^\d{1,15}$/.test(operand)) throw new UsageError('the revision must be a whole number');
    const revision = Number(operand);
    const end = terminal.now() + (parseDuration(duration(values, 'timeout') ?? PATIENCE) ?? 0) * 1000;
    const client = connect(terminal, values);
    const interrupted = terminal.interruption();
    let answer = await client.fleet();
    let lost: unknown;
    while (
      (lost !== undefined || lagging(answer, revision).length > 0) &&
      terminal.now() < end &&
      !interrupted.aborted
    ) {
      await sleep(PAUSE_MS, undefined, { signal: interrupted }).catch(() => undefined);
      try {
        answer = await client.fleet();
        lost = undefined;
      } catch (error) {
        // Processes restart while a release is rolled out, also the one that is asked.
        if (!isRdcpError(error) || error.code !== 'RDCP_UNAVAILABLE') throw error;
        lost = error;
      }
    }
    if (lost !== undefined) throw lost;
    const behind = lagging(answer, revision);
    const { length } = answer.instances;
    present(terminal, values, { revision, instances: length, applied: length - behind.length, pending: behind }, () =>
      terminal.out(`revision ${revision} applied by ${length - behind.length} of ${length} processes`),
    );
    if (behind.length === 0) return EXIT.done;
    terminal.note(`Still pending: ${behind.join(', ')}.`);
    return EXIT.partial;
  },
};

function lagging({ instances }: FleetResponse, revision: number): string[] {
  return instances.filter(({ applied }) => applied === undefined || applied < revision).map(({ id }) => id);
}
