import type { z } from 'zod';
import { assertScope, identityKey, type Principal } from '../../access/principal.ts';
import { withoutValues } from '../../calls/tail/line.ts';
import { Tail, type TailReader, type TailSummary } from '../../calls/tail/tail.ts';
import type { TapFilter } from '../../calls/tail/types.ts';
import { assertMayRead, longestOf } from '../../control/allow.ts';
import type { ResolvedConfig } from '../../options/config.ts';
import type { AuditedTail } from '../../wire/audit-messages.ts';
import { MAX_TAIL_LINES, MAX_TAIL_RATE, REQUEST_HEADERS } from '../../wire/constants.ts';
import { isCategoryName } from '../../wire/names.ts';
import type { TailCounts, TailOpen } from '../../wire/streams.ts';
import { tailRequestSchema } from '../../wire/tail-request.ts';
import { DURATION_SCHEMA, formatDuration, parseDuration, timestamp } from '../../wire/time.ts';
import { whenText, workText } from '../../wire/words/activation.ts';
import { tailEndText } from '../../wire/words/tail.ts';
import type { StreamDependencies } from '../app.ts';
import { validBody } from '../middleware/body.ts';
import { header } from '../middleware/headers.ts';
import { type Context, required, type Step } from '../steps.ts';
import { answerHead, EventStream } from '../streams/event-stream.ts';
import { StreamPlaces } from '../streams/places.ts';
import { malformed, parseQuery, type Rules, wholeNumber } from './query.ts';
import { countsFor, tenantKnown } from './tenants.ts';

/** The default duration, in seconds. */
const DEFAULT_SECONDS = 300;

/** Parameters of `GET`; a body has a target, a filter and an outcome as well. */
interface Query {
  readonly categories: readonly string[];
  /** In seconds. */
  readonly duration: number | undefined;
  readonly rate: number | undefined;
  readonly lines: number | undefined;
  /** In seconds. */
  readonly since: number | undefined;
  readonly log: boolean | undefined;
}

const DURATION = {
  parse: (value: string) => parseDuration(/^\d{1,15}$/.test(value) ? Number(value) : value),
  allowed: 'a positive whole number of seconds, or <n>s, <n>m, <n>h or <n>d',
  schema: DURATION_SCHEMA,
};

/** Parameters of the query. */
export const TAIL_QUERY: Rules<Query> = {
  categories: {
    parse: parseCategories,
    allowed: 'names of categories such as SQL_POOL, each once, with commas between them',
    schema: { required: true, type: 'string', pattern: '^[A-Z][A-Z0-9_,-]*$' },
  },
  duration: DURATION,
  rate: wholeNumber(1, MAX_TAIL_RATE),
  lines: wholeNumber(1, MAX_TAIL_LINES),
  since: DURATION,
  log: {
    parse: (value) => ({ true: true, false: false })[value],
    allowed: 'true or false',
    schema: { type: 'boolean' },
  },
};

/** A day, the longest time that timers of every EventSource can wait. */
const NO_RETRY_MS = 86_400_000;

/** Most tails at a time. */
const MAX_TAILS = { total: 32, perIdentity: 8 };

type TailSettings = Exclude<ResolvedConfig['tail'], false>;

/** `GET` and `POST /rdcp/v1/tail`: the debug lines of some categories, to this reader alone. */
export function tail(sources: StreamDependencies, settings: TailSettings): Step {
  const places = new StreamPlaces({ name: 'tails', ...MAX_TAILS });
  const { config, time, recordAccess, watchCredential, watchers } = sources;
  const { plane, fleet, choosing, relay, streams } = sources.state;
  return async (ctx) => {
    const { categories, seconds, rate, lines, since, log, target, filter, when } = requested(
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
    if (ctx.method === 'HEAD') {
      answerHead(ctx);
      return;
    }
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
    const id = sources.host.randomUUID();
    const note = (state: AuditedTail, reason: string) =>
      recordAccess(ctx, { action: 'tail', categories, reason, tail: state });
    let open: TailOpen;
    try {
      await note(
        { id, state: 'begin', duration: formatDuration(seconds), rate, log },
        began(seconds, rate, log, since) + selectionText(selected),
      );
      open = {
        revision: summary?.revision ?? watchers.revision,
        instances: choosing.number(categories, target?.instances),
        categories,
        expiresAt: timestamp(time.clock.now() + seconds * 1000),
        ...(tenantId !== undefined && tenantKnown(principal, tenantId, sources)),
      };
    } catch (error) {
      leave();
      throw error;
    }
    const stream = new EventStream(ctx, time);
    const lineTail = new Tail(
      { ...selected, rate, log, since, lines, milliseconds: seconds * 1000 },
      readerOf(stream, principal),
      time,
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
  };
}

function readerOf(stream: EventStream, principal: Principal): TailReader {
  const redacted = principal.allow?.tail === 'redacted';
  const send = (event: string) => (data: object) => stream.send(event, data);
  return {
    line: (line) => stream.send('line', redacted ? withoutValues(line) : line),
    dropped: send('dropped'),
    instance: send('instance'),
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

function requested(ctx: Context, { rate: configured, scope, historySeconds }: TailSettings, maxDuration: number) {
  const query: Partial<Query> & Pick<z.output<typeof tailRequestSchema>, 'target' | 'filter' | 'when'> =
    ctx.method === 'POST' ? validBody(ctx, tailRequestSchema) : parseQuery<Query>(ctx.querystring, TAIL_QUERY);
  const {
    categories,
    duration: seconds = Math.min(DEFAULT_SECONDS, maxDuration, longestOf(ctx.state.principal)),
    rate = configured,
    log = false,
  } = query;
  if (categories === undefined) throw malformed('categories', 'is required');
  if (seconds > maxDuration) {
    const maximum = formatDuration(maxDuration);
    throw malformed('duration', `must be at most ${maximum}`, { maximum });
  }
  const { since } = query;
  if (since !== undefined) assertKept(since, historySeconds, query);
  // The scope `tail` reads lines, and changes nothing.
  if (log) assertScope(required(ctx, 'principal'), [scope, 'control'], 'To write the lines to the logs');
  if (rate > configured) assertScope(required(ctx, 'principal'), ['admin'], `A rate above ${configured}`);
  return {
    categories,
    seconds,
    rate,
    log,
    since,
    lines: query.lines,
    target: query.target,
    filter: query.filter,
    when: query.when,
  };
}

/** @throws {RdcpError} `RDCP_MALFORMED_REQUEST` for lines that are not kept */
function assertKept(
  since: number,
  most: number,
  { target, when }: Pick<z.output<typeof tailRequestSchema>, 'target' | 'when'>,
): void {
  if (most === 0) throw malformed('since', 'needs tail.historySeconds: this server keeps no lines');
  if (since > most) {
    const maximum = formatDuration(most);
    throw malformed('since', `must be at most ${maximum}`, { maximum });
  }
  if (target?.match !== undefined || when !== undefined)
    throw malformed(
      'since',
      'cannot be combined with target.match or when: a line that was kept does not know its work',
    );
}

function parseCategories(value: string): readonly string[] | undefined {
  const names = value.split(',');
  return names.every(isCategoryName) && new Set(names).size === names.length ? names : undefined;
}

function began(seconds: number, rate: number, log: boolean, since: number | undefined): string {
  const before = since === undefined ? '' : `, first those of the last ${formatDuration(since)}`;
  return `begun for ${formatDuration(seconds)}, at most ${rate} lines a second${before}${log ? ', also to the outputs' : ''}`;
}

/** Names of attributes alone: their values may be personal data. */
export function selectionText({ match, instances, filter, when }: TapFilter): string {
  return `${workText({ target: { match, instances }, filter }, false)}${when === undefined ? '' : `, only ${whenText(when)}`}`;
}

function ended({ reason, lines, dropped }: TailSummary): string {
  return `ended: ${tailEndText(reason)}; ${lines} lines, ${dropped} dropped`;
}
