import { z } from 'zod';
import type { Shape } from './documented.ts';

/** Attributes that the current work must have, all of them: name to value. A `*` at the end of a value matches any ending. */
export type Match = Readonly<Record<string, string>>;

/** Which processes are meant, of those that have one of the categories. All that are given must hold. */
export interface Instances {
  /** Ids of the processes, or `host:pid`. @default any */
  readonly ids?: readonly string[] | undefined;
  /** The version of the service (`service.version`). @default any */
  readonly version?: string | undefined;
  /** So many of them. When one ends, another takes its place. @default all */
  readonly count?: number | undefined;
  /** A share of them in percent, and at least one: above 0, up to 100. @default 100 */
  readonly percent?: number | undefined;
}

/** What some processes are chosen for. */
export interface Choice {
  /** Decides with the ids of processes who is chosen, so that not every choice meets the same process. */
  readonly id: string;
  /** A process that has none of them is not chosen. */
  readonly categories: readonly string[];
  /** @default all processes */
  readonly instances?: Instances | undefined;
}

/** Whose work is meant, in which processes. */
export interface Target {
  /** Attributes of the work, 1 to 4, such as `{ "user.id": "42" }`. @default all work */
  readonly match?: Match | undefined;
  /** These processes alone. @default all processes */
  readonly instances?: Instances | undefined;
}

/** Whose work a control is for. `match` and `request` exclude each other. */
export interface ControlTarget extends Target {
  /** Only work that carries the ticket which the answer holds: one request, through all services that it passes. */
  readonly request?: true | undefined;
}

/** Which lines are meant. All that are given must hold. */
export interface LineFilter {
  /** An expression of the Common Expression Language, such as `rows > 1000 && table == "orders"`, at most 512 bytes. @default any attributes */
  readonly where?: string | undefined;
  /** The message, with `*` for any characters: `query*`. @default any message */
  readonly text?: string | undefined;
  /** A share of the traces, and of the calls without a trace: above 0, up to 1. @default 1 */
  readonly sample?: number | undefined;
}

/** Which work is meant, once it has ended. One that is given must hold. */
export interface When {
  /** Work that failed. */
  readonly failed?: true | undefined;
  /** Work that took at least this long: `2s`, `500ms`. */
  readonly slowerThan?: string | undefined;
}

const WORK_DURATION = /^0*([1-9]\d{0,6})(ms|s|m)$/;
/** The longest time of `slowerThan`. */
const MAX_SLOWER_THAN_MS = 3_600_000;
const MILLISECONDS = { ms: 1, s: 1000, m: 60_000 } as const;

/** Returns milliseconds, or `undefined` for anything but a positive whole number with `ms`, `s` or `m`. */
export function parseWorkDuration(text: string): number | undefined {
  const [, amount, unit] = WORK_DURATION.exec(text) ?? [];
  return amount === undefined ? undefined : Number(amount) * MILLISECONDS[unit as keyof typeof MILLISECONDS];
}

const MAX_CONDITIONS = 4;
const MAX_IDS = 64;
const NAME = /^[\w.:/@$-]{1,128}$/;
/** Headers that hold credentials, whatever redaction is configured. */
const SECRET_HEADER = /^http\.request\.header\.(?:authorization|cookie|proxy-authorization|x-rdcp-api-key)$/i;
const MAX_WHERE_BYTES = 512;
const MAX_TEXT_LENGTH = 256;

const attributeName = z
  .string()
  .regex(NAME, 'must be the name of an attribute: up to 128 letters, digits and _ . : / @ $ -')
  .refine((name) => name !== '__proto__', 'must be the name of an attribute')
  .refine((name) => !SECRET_HEADER.test(name), 'must not name a header that holds credentials');

const printable = z
  .string()
  .min(1, 'must hold at least one character')
  .refine((value) => !/\p{Cc}/u.test(value), 'must not hold control characters');
const attributeValue = printable.max(256, 'must hold at most 256 characters');

const instancesSchema = z
  .strictObject({
    ids: z
      .array(printable.max(256, 'must hold at most 256 characters'))
      .min(1, 'must hold at least one process')
      .max(MAX_IDS, `must hold at most ${MAX_IDS} processes`)
      .readonly()
      .optional(),
    version: printable.max(128, 'must hold at most 128 characters').optional(),
    count: z.int().min(1).max(10_000).optional(),
    percent: z.number().gt(0).max(100).optional(),
  } satisfies Shape<Instances>)
  .refine(
    (given) => Object.values(given).some((value) => value !== undefined),
    'must hold ids, version, count or percent',
  )
  .refine(({ count, percent }) => count === undefined || percent === undefined, {
    path: ['percent'],
    message: 'cannot be combined with count',
  });

const fields = {
  match: z
    .record(attributeName, attributeValue)
    .refine(
      (match) => Object.keys(match).length > 0 && Object.keys(match).length <= MAX_CONDITIONS,
      `must hold 1 to ${MAX_CONDITIONS} attributes`,
    )
    .optional(),
  instances: instancesSchema.optional(),
} satisfies Shape<Target>;

export const targetSchema = z
  .strictObject(fields)
  .refine(({ match, instances }) => (match ?? instances) !== undefined, {
    path: ['match'],
    message: 'or instances is required',
  })
  .meta({ anyOf: [{ required: ['match'] }, { required: ['instances'] }] });

export const controlTargetSchema = z
  .strictObject({ ...fields, request: z.literal(true, 'must be true').optional() } satisfies Shape<ControlTarget>)
  .refine(({ match, request, instances }) => (match ?? request ?? instances) !== undefined, {
    path: ['match'],
    message: 'or request or instances is required',
  })
  .refine(({ match, request }) => match === undefined || request === undefined, {
    path: ['request'],
    message: 'cannot be combined with match',
  })
  .meta({
    anyOf: [{ required: ['match'] }, { required: ['request'] }, { required: ['instances'] }],
    not: { required: ['match', 'request'] },
  });

export const lineFilterSchema = z
  .strictObject({
    where: z
      .string()
      .min(1, 'must hold at least one character')
      .refine(
        (text) => new TextEncoder().encode(text).length <= MAX_WHERE_BYTES,
        `must hold at most ${MAX_WHERE_BYTES} bytes`,
      )
      .optional(),
    text: z
      .string()
      .min(1, 'must hold at least one character')
      .max(MAX_TEXT_LENGTH, `must hold at most ${MAX_TEXT_LENGTH} characters`)
      .optional(),
    sample: z.number().gt(0).max(1).optional(),
  } satisfies Shape<LineFilter>)
  .refine((filter) => Object.values(filter).some((value) => value !== undefined), 'must hold where, text or sample');

export const whenSchema = z
  .strictObject({
    failed: z.literal(true, 'must be true').optional(),
    slowerThan: z
      .string()
      .regex(WORK_DURATION, 'must be a positive whole number with ms, s or m, such as 2s')
      .refine((text) => (parseWorkDuration(text) ?? 0) <= MAX_SLOWER_THAN_MS, 'must be at most 60m')
      .optional(),
  } satisfies Shape<When>)
  .refine(({ failed, slowerThan }) => (failed ?? slowerThan) !== undefined, 'must hold failed or slowerThan')
  .meta({ minProperties: 1 });
