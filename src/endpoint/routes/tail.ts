import type { z } from 'zod';
import { assertScope, identityKey, type Principal } from '../../access/principal.ts';
import { type Failure, findFailures } from '../../calls/tail/failures.ts';
import { withoutValues } from '../../calls/tail/line.ts';
import { Tail, type TailReader, type TailRequest, type TailSummary } from '../../calls/tail/tail.ts';
import type { TapFilter } from '../../calls/tail/types.ts';
import { isLiveOnly } from '../../calls/work/attributes.ts';
import { assertMayRead, longestOf } from '../../control/allow.ts';
import type { ResolvedConfig } from '../../options/config.ts';
import type { AuditedTail } from '../../wire/audit-messages.ts';
import { MAX_TAIL_LINES, MAX_TAIL_RATE, REQUEST_HEADERS } from '../../wire/constants.ts';
import { REDACTED } from '../../wire/credentials.ts';
import { isCategoryName, matchesAny } from '../../wire/names.ts';
import { nameSome } from '../../wire/printable.ts';
import { REFUSALS } from '../../wire/refusals.ts';
import { failuresRequestSchema, tailRequestSchema } from '../../wire/stream-requests.ts';
import type { FailedWork, FailuresResponse, TailCounts, TailOpen } from '../../wire/streams.ts';
import { DURATION_SCHEMA, formatDuration, parseDuration, timestamp } from '../../wire/time.ts';
import { whenText, workText } from '../../wire/words/activation.ts';
import { counted } from '../../wire/words/count.ts';
import { tailEndText } from '../../wire/words/tail.ts';
import { validBody } from '../middleware/body.ts';
import { header } from '../middleware/headers.ts';
import type { RouteParts } from '../parts.ts';
import { type Context, type Handler, opening, required } from '../steps.ts';
import { answerHead, EventStream, StreamPlaces } from '../streams/event-stream.ts';
import { whileConnected } from '../streams/open-streams.ts';
import { parseQuery, wholeNumber } from './query.ts';
import { countsFor, tenantKnown } from './tenants.ts';

const DEFAULT_SECONDS = 300;

const DURATION = {
  parse: (value: string) => parseDuration(/^\d{1,15}$/.test(value) ? Number(value) : value),
  allowed: 'a positive whole number of seconds, or <n>s, <n>m, <n>h or <n>d',
  schema: DURATION_SCHEMA,
};

const BOOLEAN = {
  parse: (value: string) => ({ true: true, false: false })[value],
  allowed: 'true or false',
  schema: { type: 'boolean' },
};

/** Parameters of `GET`; a body has a target, a filter and an outcome as well. */
export const TAIL_QUERY = {
  categories: {
    parse: parseCategories,
    allowed: 'names of categories such as SQL_POOL, each once, with commas between them',
    schema: { required: true, type: 'string', pattern: '^[A-Z][A-Z0-9_,-]*$' },
  },
  duration: DURATION,
  rate: wholeNumber(1, MAX_TAIL_RATE),
  lines: wholeNumber(1, MAX_TAIL_LINES),
  since: DURATION,
  past: BOOLEAN,
  log: BOOLEAN,
};

/** A day, the longest time that timers of every EventSource can wait. */
const NO_RETRY_MS = 86_400_000;

const MAX_TAILS = { total: 32, perIdentity: 8 };

type TailSettings = Exclude<ResolvedConfig['tail'], false>;

/** `GET` and `POST /rdcp/v1/tail`: the debug lines of some categories, to this reader alone. */
export function tail(parts: RouteParts): Handler | undefined {
  const { config, plane, fleet, choosing, relay, streams, clock, recordAccess, watchCredential, watchers } = parts;
  const { tail: settings } = config;
  if (settings === false) return undefined;
  const places = new StreamPlaces({ name: 'tails', ...MAX_TAILS });
  return async (ctx) => {
    const { categories, seconds, rate, lines, since, past, log, target, filter, when } = requested(
      ctx,
      settings,
      config.controls.maxDuration,
    );
    const { tenantId, tenants } = required(ctx, 'tenancy');
    const principal = required(ctx, 'principal');
    const { allow, method } = principal;
    if (allow !== undefined) {
      const { match } = target ?? {};
      assertMayRead({ allow, method }, { action: 'tail', categories, tenantId, seconds, match, filter, log });
    }
    const summary = await fleet?.summary();
    plane.assertKnown(categories);
    if (since !== undefined) assertRecorded(parts, since, { categories, ...target });
    if (ctx.method === 'HEAD') return answerHead(ctx);
    const selected = { categories, tenantId, tenants, ...target, filter, when };
    await relay.check(selected);
    let replaced = false;
    let replace = () => {
      replaced = true;
    };
    const leave = places.take({
      identity: identityKey(principal),
      client: `${header(ctx.req, REQUEST_HEADERS.clientId) ?? ''} ${ctx.state.facts.clientKey}`,
      replace: () => replace(),
    });
    const id = parts.randomUUID();
    const note = (state: AuditedTail, reason: string) =>
      recordAccess(ctx, { action: 'tail', categories, reason, tail: state });
    const processes = choosing.number(categories, target?.instances);
    let open: TailOpen;
    try {
      await note(
        { id, state: 'begin', duration: formatDuration(seconds), rate, log },
        began(seconds, { rate, log, since, past }) + selectionText(selected),
      );
      open = {
        revision: summary?.revision ?? watchers.revision,
        instances: processes,
        categories,
        expiresAt: timestamp(clock.now() + seconds * 1000),
        ...(tenantId !== undefined && tenantKnown(principal, tenantId, parts)),
      };
    } catch (error) {
      leave();
      throw error;
    }
    const stream = new EventStream(ctx, parts);
    const lineTail = new Tail(
      { ...selected, rate, log, since, past, lines, processes, milliseconds: seconds * 1000 },
      readerOf(stream, principal),
      parts,
      (result) => void note({ id, state: 'end', ...result }, ended(result)).catch(() => undefined),
    );
    stream.whenOver(leave, () => lineTail.end('closed'));
    stream.send('start', open);
    // Until 1.0 under its first name too, which an EventSource fires by itself whenever it has connected.
    stream.send('open', open);
    replace = () => lineTail.end('replaced');
    if (replaced) replace();
    stream.whenOver(
      // A server that is closing ends it at once.
      streams.add(() => lineTail.end('shutdown')),
      watchCredential(ctx, log ? [settings.scope, 'control'] : [settings.scope, 'tail'], () => lineTail.end('revoked')),
    );
    lineTail.begin(relay);
    return undefined;
  };
}

function readerOf(stream: EventStream, principal: Principal): TailReader {
  const redacted = principal.allow?.tail === 'redacted';
  const send = (event: string) => (data: object) => stream.send(event, data);
  return {
    line: (line) => stream.send('line', redacted ? withoutValues(line) : line),
    dropped: send('dropped'),
    instance: send('instance'),
    now: send('now'),
    counts({ instances, categories }) {
      const entries = Object.entries(categories).map(([name, each]) => [name, countsFor(principal, each)]);
      return stream.send('counts', { instances, categories: Object.fromEntries(entries) } satisfies TailCounts);
    },
    // An EventSource would connect again after what was meant to end, so that a tail of five minutes lasted for ever.
    end: (data) => {
      const retry = data.reason === 'shutdown' ? undefined : NO_RETRY_MS;
      stream.end({ name: 'end', data, retry });
    },
  };
}

function requested(ctx: Context, { rate: configured, scope }: TailSettings, maxDuration: number) {
  const hasBody = ctx.method === 'POST';
  const query: Partial<z.output<typeof tailRequestSchema>> = hasBody
    ? validBody(ctx, tailRequestSchema)
    : parseQuery(ctx.querystring, TAIL_QUERY);
  const malformed = hasBody ? REFUSALS.malformed : REFUSALS.malformedQuery;
  const {
    categories,
    duration: seconds = Math.min(DEFAULT_SECONDS, maxDuration, longestOf(ctx.state.principal)),
    rate = configured,
    log = false,
    past = false,
    ...rest
  } = query;
  if (categories === undefined) throw malformed('categories', 'is required');
  if (seconds > maxDuration) {
    const maximum = formatDuration(maxDuration);
    throw malformed('duration', `must be at most ${maximum}`, { maximum });
  }
  if (past && rest.since === undefined) throw malformed('past', 'needs since');
  // The scope `tail` reads lines, and changes nothing.
  if (log) assertScope(required(ctx, 'principal'), [scope, 'control'], 'To write the lines to the logs');
  if (rate > configured) assertScope(required(ctx, 'principal'), ['admin'], `A rate above ${configured}`);
  return { ...rest, categories, seconds, rate, log, past };
}

/** @throws {RdcpError} `RDCP_MALFORMED_REQUEST` for what no process can have recorded */
function assertRecorded(
  { config, ...parts }: RouteParts,
  since: number,
  { categories, match = {} }: Pick<TapFilter, 'categories' | 'match'>,
): void {
  const { keepSeconds } = config.recorder;
  if (keepSeconds === 0)
    throw REFUSALS.malformed('since', 'needs recorder.keepSeconds: this server keeps no finished work');
  if (since > keepSeconds) {
    const maximum = formatDuration(keepSeconds);
    throw REFUSALS.malformed('since', `must be at most ${maximum}, the server's recorder.keepSeconds`, { maximum });
  }
  const unknown = Object.keys(match).find(isLiveOnly);
  if (unknown !== undefined) throw REFUSALS.malformedBody(`target.match.${unknown}`, 'is not kept of recorded work');
  const recorded = parts.recorded();
  // Of a category that only other processes have, this one does not know.
  const notRecorded = categories.filter((name) => recorded.get(name) === false);
  if (notRecorded.length === 0) return;
  const problem = `needs categories that are recorded; ${nameSome(notRecorded)} ${notRecorded.length === 1 ? 'is' : 'are'} not`;
  throw REFUSALS.malformed('since', problem, { notRecorded });
}

function parseCategories(value: string): string[] | undefined {
  const names = value.split(',');
  return names.every(isCategoryName) && new Set(names).size === names.length ? names : undefined;
}

type TailStart = Pick<TailRequest, 'rate' | 'log' | 'since' | 'past'>;

function began(seconds: number, { rate, log, since, past }: TailStart): string {
  const recorded = since === undefined ? '' : `those recorded in the last ${formatDuration(since)}`;
  if (past) return `begun for ${recorded}`;
  const before = since === undefined ? '' : `, first ${recorded}`;
  return `begun for ${formatDuration(seconds)}, at most ${rate} lines a second${before}${log ? ', also to the outputs' : ''}`;
}

/** Names of attributes alone: their values may be personal data. */
export function selectionText({ match, instances, filter, when }: TapFilter): string {
  return `${workText({ target: { match, instances }, filter }, { values: false })}${when === undefined ? '' : `, only ${whenText(when)}`}`;
}

function ended({ reason, lines, dropped }: TailSummary): string {
  return `ended: ${tailEndText(reason)}; ${counted(lines, 'line')}, ${dropped} dropped`;
}

const MAX_NAMES = 100;

/** `POST /rdcp/v1/failures`: the newest work that failed or was slow, so far as it was recorded, of every process. */
export function failures(parts: RouteParts): Handler | undefined {
  const { config, plane, fleet, choosing, relay, streams, clock, delay, recordAccess } = parts;
  if (config.tail === false) return undefined;
  return async (ctx) => {
    const given = validBody(ctx, failuresRequestSchema);
    const { since = Math.max(1, config.recorder.keepSeconds), target, when, limit } = given;
    const { tenantId, tenants, scope } = required(ctx, 'tenancy');
    const { allow, method } = required(ctx, 'principal');
    await fleet?.refresh(true);
    if (given.categories !== undefined) plane.assertKnown(given.categories);
    const all = plane.view(scope).map(({ name }) => name);
    const mine = allow === undefined ? all : all.filter((name) => matchesAny(allow.categories, name));
    const recorded = parts.recorded();
    const categories = given.categories ?? mine.filter((name) => recorded.get(name) !== false);
    if (allow !== undefined) {
      const { match } = target ?? {};
      assertMayRead({ allow, method }, { action: 'tail', categories, tenantId, seconds: 0, match, filter: undefined });
    }
    assertRecorded(parts, since, { categories, ...target });
    const selected = { categories, tenantId, tenants, ...target, when };
    await relay.check(selected);
    return whileConnected(ctx, streams, async (signal) => {
      const reason = `work that failed in the last ${formatDuration(since)}${selectionText({ ...selected, when: undefined })}`;
      await recordAccess(ctx, { action: 'tail', categories: categories.slice(0, MAX_NAMES), reason });
      const processes = choosing.number(categories, target?.instances);
      // Work without a line is shown to who may see everything.
      const all =
        given.categories === undefined && allow === undefined && tenantId === undefined && tenants === undefined;
      const found = await findFailures(relay, selected, { since, limit, all }, { processes, delay, signal });
      const body: FailuresResponse = {
        ...opening(ctx, clock),
        instances: found.instances,
        failures: found.failures.map((each) => shown(each, allow?.tail === 'redacted')),
        more: found.more,
        recorder: {
          ...(found.reach !== undefined && { reachesBack: formatDuration(Math.max(1, Math.round(found.reach))) }),
          categories: categories.filter((name) => recorded.get(name) === true).slice(0, MAX_NAMES),
        },
      };
      return { body };
    });
  };
}

/** @param redacted hides what a tail would: every value of an attribute, and with them what the work was */
function shown({ at, ...work }: Failure, redacted: boolean): FailedWork {
  const { attributes, outcome } = work;
  const hidden = Object.fromEntries(Object.keys(attributes).map((name) => [name, REDACTED]));
  return {
    ...work,
    timestamp: timestamp(at),
    outcome: redacted ? REDACTED : outcome,
    attributes: redacted ? hidden : attributes,
  };
}
