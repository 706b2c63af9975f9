import { z } from 'zod';
import { type CallCounts, isShownName, MAX_ATTRIBUTE_NAMES } from '../../wire/call-counts.ts';
import { MAX_FAILURES, MAX_FORECAST_SECONDS, MAX_PAST_SECONDS, MAX_TAIL_RATE } from '../../wire/constants.ts';
import { decodeJson } from '../../wire/decode.ts';
import type { Shape } from '../../wire/documented.ts';
import { isCategoryName, isIdentifier } from '../../wire/names.ts';
import { lineFilterSchema, targetSchema, whenSchema } from '../../wire/target.ts';
import type { PastWork } from '../recorder/types.ts';
import { decodeLine, type Line } from './line.ts';
import type { TapFilter } from './types.ts';

// Messages between the processes of a fleet.

const id = z.string().max(64);
const amount = z.number().min(0).max(Number.MAX_SAFE_INTEGER);
/** Most characters of a page of recorded lines, with room for a long last line in a message. */
export const MAX_PAGE = 128 * 1024;
/** Most characters of a text about a piece of work. */
export const MAX_WORK_TEXT = 512;
const counts = z.strictObject({
  calls: amount,
  otherTenants: amount.optional(),
  unmatched: amount,
  outsideWork: amount,
  filtered: amount,
  unevaluated: amount,
  problem: z.string().max(600).optional(),
  attributes: z.array(z.string().refine(isShownName)).max(MAX_ATTRIBUTE_NAMES).readonly(),
} satisfies Shape<CallCounts>);
const work = z.strictObject({
  id,
  at: amount,
  outcome: z.string().max(MAX_WORK_TEXT),
  milliseconds: amount,
  traceId: z
    .string()
    .regex(/^[0-9a-f]{32}$/)
    .exactOptional(),
  tenant: z.string().refine(isIdentifier).exactOptional(),
  attributes: z.record(z.string().max(MAX_WORK_TEXT), z.string().max(MAX_WORK_TEXT)),
  lines: z.record(z.string().refine(isCategoryName), amount),
} satisfies Shape<PastWork>);
const since = z.number().positive().max(MAX_PAST_SECONDS);
const filter = {
  categories: z.array(z.string().refine(isCategoryName)).max(4096),
  /** `null` for all calls. Required, so that a filter is never widened by a missing member. */
  tenant: z.string().refine(isIdentifier).nullable(),
  // A release that does not know these refuses the message, so that it does not send what was not asked for.
  tenants: z.array(z.string().max(256)).min(1).max(4096).optional(),
  ...targetSchema.shape,
  filter: lineFilterSchema.optional(),
  when: whenSchema.optional(),
};

const schema = z.discriminatedUnion('type', [
  /** The sender wants lines, or a forecast. Repeated each second; without that the tap ends. */
  z.strictObject({
    type: z.literal('tail'),
    id,
    ...filter,
    rate: z.number().min(1).max(MAX_TAIL_RATE),
    log: z.boolean(),
    /** First what was recorded in so many seconds. Lines that are made meanwhile wait, until the lease is renewed without it. */
    since: since.optional(),
  }),
  z.strictObject({
    type: z.literal('forecast'),
    id,
    ...filter,
    milliseconds: z
      .number()
      .positive()
      .max(MAX_FORECAST_SECONDS * 1000),
  }),
  z.strictObject({
    type: z.literal('failures'),
    id,
    ...filter,
    since,
    limit: z.number().int().min(1).max(MAX_FAILURES),
    all: z.boolean(),
  }),
  /** The sender wants recorded lines from an index on, of at most so many characters. Repeated until they arrive. */
  z.strictObject({ type: z.literal('page'), id, from: amount.int(), most: z.number().min(1).max(MAX_PAGE) }),
  /** The sender wants no more. */
  z.strictObject({ type: z.literal('release'), id }),
  /** The answers. `lines` also says that the sender is tapped. */
  z.strictObject({
    type: z.literal('lines'),
    id,
    instance: id,
    lines: z.array(z.string()),
    dropped: amount,
    /** Lines, dropped ones included, of the messages before: what did not arrive of them was lost on the way. */
    before: amount,
    /** Since the tap began, of the categories that were called. Absent where the last ones still hold. */
    counts: z.record(z.string().refine(isCategoryName), counts).optional(),
  }),
  /** Recorded lines; `left` follow them, and `more` older ones are not sent. */
  z.strictObject({
    type: z.literal('recorded'),
    id,
    instance: id,
    from: amount.int(),
    lines: z.array(z.string()),
    left: amount,
    more: amount,
    /** How far back the sender has all, in seconds, where that is less than was asked for. */
    reach: amount.optional(),
  }),
  z.strictObject({
    type: z.literal('failed'),
    id,
    instance: id,
    service: z.string().max(MAX_WORK_TEXT),
    works: z.array(work).max(MAX_FAILURES),
    more: z.boolean(),
    reach: amount.optional(),
  }),
  z.strictObject({
    type: z.literal('measured'),
    id,
    instance: id,
    seconds: z
      .number()
      .min(0.001)
      .max(2 * MAX_FORECAST_SECONDS),
    categories: z.record(
      z.string(),
      z.strictObject({ calls: amount, bytes: amount, dropped: amount, counts: counts.optional() }),
    ),
  }),
  /** The sender shuts down. */
  z.strictObject({ type: z.literal('leave'), id, instance: id }),
]);

type Encoded = z.infer<typeof schema>;
type EncodedLines = Extract<Encoded, { type: 'lines' }>;
type EncodedPage = Extract<Encoded, { type: 'recorded' }>;

export type FleetMessage =
  | Exclude<Encoded, EncodedLines | EncodedPage>
  | (Omit<EncodedLines, 'lines'> & { readonly lines: readonly Line[] })
  /** `count` includes malformed lines. */
  | (Omit<EncodedPage, 'lines'> & { readonly lines: readonly Line[]; readonly count: number });
/** A part of the recorded lines that is wanted. */
export type WantedPage = Pick<Extract<FleetMessage, { type: 'page' }>, 'from' | 'most'>;
/** The answer of a process to a question. */
export type Answer<Type extends 'measured' | 'failed'> = Extract<FleetMessage, { type: Type }>;
export type Lease = Extract<FleetMessage, { type: 'tail' | 'forecast' | 'failures' }>;

export function encodeFleetMessage(message: FleetMessage): string {
  if (message.type === 'recorded') {
    const { count: _, lines, ...rest } = message;
    return JSON.stringify({ ...rest, lines: lines.map(({ text }) => text) });
  }
  if (message.type !== 'lines') return JSON.stringify(message);
  return JSON.stringify({ ...message, lines: message.lines.map(({ text }) => text) });
}

/**
 * Decodes what another process sent; `undefined` for a malformed message. Malformed lines count as dropped.
 * @param malformed called for what is malformed
 */
export function decodeFleetMessage(text: string, malformed: () => void): FleetMessage | undefined {
  // Messages of a namespace, which this process does not belong to, begin with its name.
  if (!text.startsWith('{')) return undefined;
  const message = decodeJson(schema, text);
  if (message === undefined) malformed();
  if (message?.type !== 'lines' && message?.type !== 'recorded') return message;
  const lines = message.lines.flatMap((line) => decodeLine(line) ?? []);
  const bad = message.lines.length - lines.length;
  if (bad > 0) malformed();
  if (message.type === 'recorded') return { ...message, lines, count: message.lines.length };
  return { ...message, lines, dropped: message.dropped + bad };
}

/** What a lease has of a request. */
export function selectionOf({ categories, tenantId, tenants, match, instances, filter, when }: TapFilter) {
  return {
    categories: [...categories],
    tenant: tenantId ?? null,
    tenants: tenants && [...tenants],
    ...{ match, instances, filter, when },
  };
}

/** The request of a lease. */
export function tapFilterOf({ categories, tenant, tenants, match, instances, filter, when }: Lease): TapFilter {
  return { categories, tenantId: tenant ?? undefined, tenants, match, instances, filter, when };
}
