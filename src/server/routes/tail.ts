import { assertScope, identityKey, type Principal } from '../../auth/principal.ts';
import type { Clock, Delay, Schedule } from '../../clock.ts';
import type { ControlPlane } from '../../control/types.ts';
import { isRdcpError } from '../../errors.ts';
import type { Fleet } from '../../fleet/types.ts';
import type { AuditedTail } from '../../protocol/messages.ts';
import { isCategoryName } from '../../protocol/names.ts';
import type { TailOpen } from '../../protocol/streams.ts';
import { formatDuration, parseDuration, timestamp } from '../../protocol/time.ts';
import type { TailReader, TailSummary, Tails } from '../../tail/tails.ts';
import { type Context, required, type Step } from '../context.ts';
import { answerHead, EventStream } from '../event-stream.ts';
import type { OpenStreams } from '../open-streams.ts';
import { malformed, parseQuery, type Rules, wholeNumber } from '../query.ts';
import type { RecordTap } from '../tap-audit.ts';
import { assertKnownHere } from './known-categories.ts';

/** The default duration, in seconds. */
const DEFAULT_SECONDS = 300;
const MAX_RATE = 10_000;
const MAX_LINES = 1_000_000_000;

interface Query {
  readonly categories: readonly string[];
  /** In seconds. */
  readonly duration: number;
  readonly rate: number;
  readonly lines: number;
  readonly log: boolean;
}

const RULES: Rules<Query> = {
  categories: { parse: parseCategories, allowed: 'names of categories, each once, with commas between them' },
  duration: {
    parse: (value) => parseDuration(/^\d{1,15}$/.test(value) ? Number(value) : value),
    allowed: 'a positive whole number of seconds, or <n>s, <n>m, <n>h or <n>d',
  },
  rate: wholeNumber(1, MAX_RATE),
  lines: wholeNumber(1, MAX_LINES),
  log: { parse: (value) => ({ true: true, false: false })[value], allowed: 'true or false' },
};

export interface TailSources {
  readonly plane: ControlPlane;
  readonly fleet?: Fleet | undefined;
  readonly tails: Tails;
  readonly streams: OpenStreams;
  readonly recordTap: RecordTap;
  /** Whether the request's credential is still good for what it was accepted for. */
  readonly stillAllowed: (ctx: Context) => Promise<boolean>;
  /** Configured lines per second. */
  readonly rate: number;
  /** Longest duration, in seconds. */
  readonly maxDuration: number;
  readonly clock: Clock;
  readonly schedule: Schedule;
  readonly delay: Delay;
  readonly randomUUID: () => string;
}

/** Interval in which the credential is checked, in milliseconds. */
const CHECK_MS = 800;

/** `GET /rdcp/v1/tail`: the debug lines of some categories, to this reader alone. */
export function tail(sources: TailSources): Step {
  const { plane, fleet, tails, streams, recordTap, stillAllowed, clock, schedule, delay, randomUUID } = sources;
  return async (ctx) => {
    const { categories, seconds, rate, lines, log } = requested(ctx, sources);
    const { scope, tenantId } = required(ctx, 'tenancy');
    const principal = required(ctx, 'principal');
    assertKnownHere(plane, scope, categories);
    if (ctx.method === 'HEAD') {
      answerHead(ctx);
      return;
    }
    const place = tails.reserve(identityKey(principal));
    const id = randomUUID();
    const note = (state: AuditedTail, reason: string) =>
      recordTap(ctx, { action: 'tail', categories, reason, tail: state });
    let open: TailOpen;
    try {
      const summary = await fleet?.summary();
      await note({ id, state: 'begin', duration: formatDuration(seconds), rate, log }, began(seconds, rate, log));
      open = {
        revision: summary?.revision ?? 0,
        instances: summary?.instances ?? 1,
        categories,
        expiresAt: timestamp(clock.now() + seconds * 1000),
      };
    } catch (error) {
      place.leave();
      throw error;
    }
    if (ctx.state.expired) {
      place.leave();
      return;
    }
    const ends: (() => void)[] = [place.leave];
    let end = (_reason: 'closed' | 'shutdown' | 'revoked') => {};
    const stream = new EventStream(ctx, { schedule, delay, closed: () => end('closed') });
    stream.send('open', JSON.stringify(open));
    const running = await tails.open(
      { categories, tenantId, rate, log, lines, milliseconds: seconds * 1000 },
      readerOf(stream),
      (result) => {
        for (const task of ends.splice(0)) task();
        note({ id, state: 'end', ...result }, ended(result)).catch(() => undefined);
      },
    );
    end = (reason) => running.end(reason);
    ends.push(
      streams.add(() => end('shutdown')),
      watchCredential(ctx, principal, { stillAllowed, clock, schedule, delay }, () => end('revoked')),
    );
    if (ctx.res.destroyed) end('closed');
  };
}

function readerOf(stream: EventStream): TailReader {
  const send = (event: string) => (data: object) => stream.send(event, JSON.stringify(data));
  return {
    line: (line) => stream.send('line', line),
    dropped: send('dropped'),
    instance: send('instance'),
    end: (data) => stream.end({ name: 'end', data: JSON.stringify(data) }),
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

/** Calls back once when the credential has expired, was revoked, or no longer allows what it did. */
export function watchCredential(
  ctx: Context,
  { expiresAt }: Principal,
  { stillAllowed, clock, schedule, delay }: Pick<TailSources, 'stillAllowed' | 'clock' | 'schedule' | 'delay'>,
  over: () => void,
): () => void {
  let checking = false;
  const stopChecks = schedule(CHECK_MS, () => {
    if (checking) return;
    if (expiresAt !== undefined && clock.now() >= expiresAt) {
      over();
      return;
    }
    checking = true;
    stillAllowed(ctx)
      .then((allowed) => {
        if (!allowed) over();
      })
      .catch((error: unknown) => {
        // An issuer that does not answer says nothing about the credential.
        if (isRdcpError(error) && error.status < 500) over();
      })
      .finally(() => {
        checking = false;
      });
  });
  const left = expiresAt === undefined ? Number.POSITIVE_INFINITY : expiresAt - clock.now();
  const cancel = left < CHECK_MS ? delay(Math.max(0, left), over) : () => {};
  return () => {
    stopChecks();
    cancel();
  };
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
