import { assertScope, identityKey } from '../../auth/principal.ts';
import type { Clock, Delay, Schedule } from '../../clock.ts';
import type { ControlPlane } from '../../control/types.ts';
import type { Fleet } from '../../fleet/types.ts';
import type { AuditedTail } from '../../protocol/audit-messages.ts';
import { MAX_TAIL_LINES, MAX_TAIL_RATE, type Scope } from '../../protocol/constants.ts';
import { isCategoryName } from '../../protocol/names.ts';
import type { TailOpen } from '../../protocol/streams.ts';
import { formatDuration, parseDuration, timestamp } from '../../protocol/time.ts';
import type { Relay } from '../../tail/relay.ts';
import { Tail, type TailReader, type TailSummary } from '../../tail/tail.ts';
import type { RecordAccess } from '../access-audit.ts';
import type { WatchCredential } from '../credential-watch.ts';
import { answerHead, EventStream } from '../event-stream.ts';
import type { OpenStreams } from '../open-streams.ts';
import { malformed, parseQuery, type Rules, wholeNumber } from '../query.ts';
import { type Context, required, type Step } from '../steps.ts';
import type { StreamPlaces } from '../stream-places.ts';
import { assertKnownHere } from './known-categories.ts';
import { type TenantSources, tenantKnown } from './known-tenants.ts';

/** The default duration, in seconds. */
const DEFAULT_SECONDS = 300;

interface Query {
  readonly categories: readonly string[];
  /** In seconds. */
  readonly duration: number;
  readonly rate: number;
  readonly lines: number;
  readonly log: boolean;
}

const RULES: Rules<Query> = {
  categories: {
    parse: parseCategories,
    allowed: 'names of categories such as SQL_POOL, each once, with commas between them',
  },
  duration: {
    parse: (value) => parseDuration(/^\d{1,15}$/.test(value) ? Number(value) : value),
    allowed: 'a positive whole number of seconds, or <n>s, <n>m, <n>h or <n>d',
  },
  rate: wholeNumber(1, MAX_TAIL_RATE),
  lines: wholeNumber(1, MAX_TAIL_LINES),
  log: { parse: (value) => ({ true: true, false: false })[value], allowed: 'true or false' },
};

/** A day, the longest time that timers of every EventSource can wait. */
const NO_RETRY_MS = 86_400_000;

export interface TailSources extends TenantSources {
  readonly plane: ControlPlane;
  readonly fleet?: Fleet | undefined;
  /** Revision of the state that this process knows. */
  readonly revision: () => number;
  readonly relay: () => Promise<Relay>;
  readonly places: StreamPlaces;
  readonly streams: OpenStreams;
  readonly recordAccess: RecordAccess;
  readonly watchCredential: WatchCredential;
  /** Scope that the credential needs. */
  readonly scope: Scope;
  /** Configured lines per second. */
  readonly rate: number;
  /** Longest duration, in seconds. */
  readonly maxDuration: number;
  readonly clock: Clock;
  readonly schedule: Schedule;
  readonly delay: Delay;
  readonly randomUUID: () => string;
}

/** `GET /rdcp/v1/tail`: the debug lines of some categories, to this reader alone. */
export function tail(sources: TailSources): Step {
  const { plane, fleet, revision, relay, places, streams, recordAccess, watchCredential, scope } = sources;
  const { clock, schedule, delay, randomUUID } = sources;
  return async (ctx) => {
    const { categories, seconds, rate, lines, log } = requested(ctx, sources);
    const { scope: settings, tenantId } = required(ctx, 'tenancy');
    const principal = required(ctx, 'principal');
    assertKnownHere(plane, settings, categories);
    if (ctx.method === 'HEAD') {
      answerHead(ctx);
      return;
    }
    const leave = places.take(identityKey(principal));
    const id = randomUUID();
    const note = (state: AuditedTail, reason: string) =>
      recordAccess(ctx, { action: 'tail', categories, reason, tail: state });
    let open: TailOpen;
    let running: Relay;
    try {
      const summary = await fleet?.summary();
      running = await relay();
      await note({ id, state: 'begin', duration: formatDuration(seconds), rate, log }, began(seconds, rate, log));
      open = {
        revision: summary?.revision ?? revision(),
        instances: summary?.instances ?? 1,
        categories,
        expiresAt: timestamp(clock.now() + seconds * 1000),
        ...(tenantId !== undefined && tenantKnown(principal, tenantId, sources)),
      };
    } catch (error) {
      leave();
      throw error;
    }
    let end = (_reason: TailSummary['reason']) => {};
    let ends: (() => void)[] | undefined = [leave];
    const whenOver = (task: () => void) => (ends === undefined ? task() : ends.push(task));
    const stream = new EventStream(ctx, { schedule, delay, closed: () => end('closed') });
    const lineTail = new Tail(
      { categories, tenantId, rate, log, lines, milliseconds: seconds * 1000 },
      readerOf(stream),
      { clock, schedule },
      (result) => {
        const tasks = ends;
        ends = undefined;
        for (const task of tasks ?? []) task();
        note({ id, state: 'end', ...result }, ended(result)).catch(() => undefined);
      },
    );
    end = (reason) => lineTail.end(reason);
    stream.send('open', JSON.stringify(open));
    // A server that is closing ends it at once.
    whenOver(streams.add(() => end('shutdown')));
    whenOver(watchCredential(ctx, scope, () => end('revoked')));
    lineTail.begin(running);
  };
}

function readerOf(stream: EventStream): TailReader {
  const send = (event: string) => (data: object) => stream.send(event, JSON.stringify(data));
  return {
    line: (line) => stream.send('line', line),
    dropped: send('dropped'),
    instance: send('instance'),
    // An EventSource would connect again after what was meant to end, so that a tail of five minutes lasted for ever.
    end: (data) => {
      const retry = data.reason === 'shutdown' ? undefined : NO_RETRY_MS;
      stream.end({ name: 'end', data: JSON.stringify(data), retry });
    },
  };
}

function requested(ctx: Context, { rate: configured, maxDuration }: TailSources) {
  const query = parseQuery(ctx.querystring, RULES);
  const {
    categories,
    duration: seconds = Math.min(DEFAULT_SECONDS, maxDuration),
    rate = configured,
    log = false,
  } = query;
  if (categories === undefined) throw malformed('categories', 'is required');
  if (seconds > maxDuration) {
    const maximum = formatDuration(maxDuration);
    throw malformed('duration', `must be at most ${maximum}`, { maximum });
  }
  if (rate > configured) assertScope(required(ctx, 'principal'), ['admin'], `A rate above ${configured}`);
  return { categories, seconds, rate, log, lines: query.lines };
}

function parseCategories(value: string): readonly string[] | undefined {
  const names = value.split(',');
  return names.every(isCategoryName) && new Set(names).size === names.length ? names : undefined;
}

function began(seconds: number, rate: number, log: boolean): string {
  return `begun for ${formatDuration(seconds)}, at most ${rate} lines a second${log ? ', also to the outputs' : ''}`;
}

const ENDS: Readonly<Record<TailSummary['reason'], string>> = {
  closed: 'the reader left',
  expired: 'the time was over',
  budget: 'the number of lines was reached',
  revoked: 'the credential was revoked or expired',
  shutdown: 'the server shut down',
};

function ended({ reason, lines, dropped }: TailSummary): string {
  return `ended: ${ENDS[reason]}; ${lines} lines, ${dropped} dropped`;
}
