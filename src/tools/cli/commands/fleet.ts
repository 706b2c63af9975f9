import { setTimeout as sleep } from 'node:timers/promises';
import { RdcpError } from '../../../wire/errors.ts';
import type { FleetMember, FleetResponse } from '../../../wire/messages.ts';
import { nameSome } from '../../../wire/printable.ts';
import { parseDuration } from '../../../wire/time.ts';
import { appliedText } from '../../../wire/words/change.ts';
import type { RdcpClient } from '../../client/client.ts';
import { isPassing } from '../../client/passing.ts';
import { type Command, EXIT, UsageError } from '../command.ts';
import { CONNECTION_OPTIONS, connect } from '../connection.ts';
import { ofServices } from '../each-service.ts';
import { duration, present } from '../options.ts';
import { processNames } from '../process-names.ts';
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
    wide && ['NOT ALL HAVE', ({ categories = [] }) => nameSome(categories) || '-'],
  ];
}

const PAUSE_MS = 250;
const PATIENCE = '30s';
/** An answer may take this long, even when the time is nearly over. */
const LEAST_MS = 1000;
/** Longest delay of a timer of Node.js. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const wait: Command = {
  summary: 'wait until every process of the fleet has applied a revision; exit code 3 if the time runs out',
  operands: '<revision>',
  options: {
    timeout: { value: '30s', help: `how long to wait (default: ${PATIENCE})` },
    ...CONNECTION_OPTIONS,
  },
  notes: [
    "The revision of a change is in its answer (otelrdcp_fleet.revision) and in 'rdcp fleet'. Exit code 4 means that the",
    'service did not answer, at first or when the time was over.',
  ],
  examples: ['rdcp wait 42 --timeout 1m', `rdcp wait "$(rdcp enable DATABASE -o json | jq .otelrdcp_fleet.revision)"`],
  run: async (terminal, values, [operand = '']) => {
    const revision = revisionOf(operand);
    const time = duration(values, 'timeout') ?? PATIENCE;
    const end = terminal.now() + (parseDuration(time) ?? 0) * 1000;
    const client = connect(terminal, values);
    let answer = await asked(client, end - terminal.now());
    let progress = progressOf(answer, revision);
    const interrupted = terminal.interruption();
    if (progress.behind.length > 0 && terminal.attended) {
      terminal.note(`Waiting for up to ${time}; ${progress.text}.`);
    }
    let lost: unknown;
    while ((lost !== undefined || progress.behind.length > 0) && terminal.now() < end && !interrupted.aborted) {
      await sleep(PAUSE_MS, undefined, { signal: interrupted }).catch(() => undefined);
      try {
        answer = await asked(client, end - terminal.now(), interrupted);
        progress = progressOf(answer, revision);
        lost = undefined;
      } catch (error) {
        if (interrupted.aborted) break;
        // Processes restart while a release is rolled out, also the one that is asked.
        if (!isPassing(error)) throw error;
        lost = error;
      }
    }
    if (lost !== undefined) throw lost;
    const { behind, instances, applied, text } = progress;
    present(terminal, values, { revision, instances, applied, pending: behind }, () => terminal.say(text));
    if (behind.length === 0) return EXIT.done;
    const newest = Math.max(answer.revision, ...answer.instances.map(({ applied = 0 }) => applied));
    terminal.note(
      revision > newest
        ? `The newest revision of this service is ${newest}: is ${revision} of another one?`
        : `Still pending: ${(await processNames(client, behind, terminal.now())).join(', ')}.`,
    );
    return EXIT.partial;
  },
};

/** Beyond it, whole numbers are not exact. */
const GREATEST = 999_999_999_999_999;

function revisionOf(operand: string): number {
  if (/^\d{1,15}$/.test(operand)) return Number(operand);
  // `jq` prints this for a missing field.
  const why = operand === 'null' ? ': a service that shares its state with no other process has none' : '';
  throw new UsageError(`the revision must be a whole number from 0 to ${GREATEST}, not '${operand}'${why}`);
}

/** One answer, within the time that is left. */
async function asked(client: RdcpClient, ms: number, interrupted?: AbortSignal): Promise<FleetResponse> {
  const over = AbortSignal.timeout(Math.min(Math.max(ms, LEAST_MS), LONGEST_TIMER_MS));
  try {
    return await client.fleet({ signal: interrupted === undefined ? over : AbortSignal.any([over, interrupted]) });
  } catch (error) {
    if (!over.aborted || interrupted?.aborted === true) throw error;
    throw new RdcpError('RDCP_TIMEOUT', 'The service did not respond in time');
  }
}

function progressOf({ instances: heard, lost = [] }: FleetResponse, revision: number) {
  const lagging = heard.filter(({ applied }) => applied === undefined || applied < revision);
  // Those that are not heard of may have lost what they had applied.
  const behind = [...lagging, ...lost].map(({ id }) => id);
  const instances = heard.length + lost.length;
  const applied = instances - behind.length;
  const done = instances === 1 && applied === 1 ? 'is applied' : appliedText({ applied, instances });
  return { behind, instances, applied, text: `revision ${revision} ${done}` };
}
