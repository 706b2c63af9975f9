import { z } from 'zod';
import { SCOPES } from '../../wire/constants.ts';
import { duration } from '../../wire/control-request.ts';
import type { Shape } from '../../wire/documented.ts';
import { IDENTIFIER, isCategoryName } from '../../wire/names.ts';
import { lineFilterSchema, targetSchema, whenSchema } from '../../wire/target.ts';
import { formatDuration } from '../../wire/time.ts';
import type * as Options from '../options.ts';

// Shared wherever they are used: each schema takes 2 KB of a service's memory.
export const text = z.string().min(1);
export const optionalText = text.optional();
export const textOrTexts = z.union([text, z.array(text).min(1)]);
export const optionalString = z.string().optional();
export const optionalLabel = z.string().min(1).max(200).optional();
export const optionalDescription = z.string().max(1000).optional();
export const notEmpty = z.string().min(1, 'must not be empty');
export const optionalFlag = z.boolean().optional();
export const off = z.literal(false);
export const disabledByDefault = z.boolean().default(false);
export const positive = z.number().int().positive();
export const categoryName = z
  .string()
  .refine(isCategoryName, 'must be a category name: ^[A-Z][A-Z0-9_]{0,63}$, or ^X-[A-Z][A-Z0-9_-]{0,61}$');
export const identifier = z.string().regex(IDENTIFIER, 'must be 1 to 255 of a-z A-Z 0-9 . _ -');
export const optionalIdentifier = identifier.optional();
export const scopes = z.array(z.enum(SCOPES)).min(1, 'must hold at least one scope');
export const optionalInstant = z.iso
  .datetime({ message: 'must be a UTC time such as 2026-01-31T00:00:00.000Z' })
  .optional();

export const durationUpTo = (most: number) =>
  duration.refine((seconds) => seconds <= most, `must be at most ${formatDuration(most)}`);
export const upToAnHour = durationUpTo(3600);

export const countOf = (...values: readonly unknown[]) => values.filter((value) => value !== undefined).length;

const adoptRule = z
  .strictObject({
    match: z.union([z.string().max(1000), z.instanceof(RegExp)], {
      error: 'must be a text, in which * stands for any characters, or a regular expression',
    }),
    name: categoryName.optional(),
    group: categoryName.optional(),
    description: optionalDescription,
    exclude: optionalFlag,
  } satisfies Shape<Options.AdoptRule>)
  .refine(({ name, group, exclude }) => countOf(name, group, exclude) <= 1, {
    message: 'must hold at most one of name, group and exclude',
  });

const adoptPino = z.strictObject({
  bindings: z
    .union(
      [
        z.array(text).min(1),
        z.custom<Exclude<NonNullable<Options.AdoptPinoOptions['bindings']>, readonly string[]>>(
          (value) => typeof value === 'function',
        ),
      ],
      { error: 'must be a list of names of bindings, or a function from bindings to a name' },
    )
    .optional(),
} satisfies Shape<Options.AdoptPinoOptions>);

export const adopt = z.strictObject({
  debug: optionalFlag,
  pino: z.union([z.boolean(), adoptPino]).optional(),
  winston: optionalFlag,
  nest: optionalFlag,
  debuglog: optionalFlag,
  channels: optionalFlag,
  otel: optionalFlag,
  map: z.array(adoptRule).max(1000).optional(),
} satisfies Shape<Options.AdoptOptions>);

/** What begins by itself in this process, in place of `match`. */
const TRIGGERS = ['errorRate', 'eventLoopDelay', 'uncaught'] as const;
const triggersOf = (when: object | undefined) => TRIGGERS.filter((name) => Reflect.get(when ?? {}, name) !== undefined);

const alertWhen = z
  .strictObject({
    errorRate: z.number().gt(0).max(1).optional(),
    over: upToAnHour.optional(),
    aborted: z.literal(true).optional(),
    eventLoopDelay: whenSchema.shape.slowerThan,
    uncaught: whenSchema.shape.failed,
    failed: whenSchema.shape.failed,
    slowerThan: whenSchema.shape.slowerThan,
  } satisfies Shape<Options.AlertWhenOptions>)
  .refine(
    (when) => Object.values(when).some((value) => value !== undefined),
    'must hold errorRate, eventLoopDelay, uncaught, failed or slowerThan',
  )
  .refine((when) => triggersOf(when).length <= 1, `must hold at most one of ${TRIGGERS.join(', ')}`)
  .superRefine(({ errorRate, ...when }, { addIssue }) => {
    for (const name of ['over', 'aborted'] as const) {
      if (errorRate !== undefined || when[name] === undefined) continue;
      addIssue({ code: 'custom', path: [name], message: 'needs errorRate' });
    }
  });

const alertRule = z
  .strictObject({
    name: z.string().regex(/^[a-zA-Z0-9._-]{1,100}$/, 'must be 1 to 100 of a-z A-Z 0-9 . _ -'),
    match: z
      .record(text.max(200), text.max(1000))
      .refine((labels) => Object.keys(labels).length > 0, 'must hold at least one label')
      .optional(),
    enable: z.array(categoryName).min(1, 'must hold at least one category').max(100),
    for: duration,
    tenant: optionalIdentifier,
    target: targetSchema.optional(),
    filter: lineFilterSchema.optional(),
    when: alertWhen.optional(),
    cooldown: duration.default(10 * 60),
  } satisfies Shape<Options.AlertOptions>)
  .refine(({ match, when }) => match !== undefined || triggersOf(when).length > 0, {
    path: ['match'],
    message: 'is required, or one of errorRate, eventLoopDelay and uncaught in when',
  })
  .refine(({ match, when }) => match === undefined || triggersOf(when).length === 0, {
    path: ['match'],
    message: 'cannot be combined with errorRate, eventLoopDelay or uncaught',
  });

export const alerts = z
  .array(alertRule)
  .max(100)
  .refine((rules) => new Set(rules.map(({ name }) => name)).size === rules.length, 'must not hold a name twice')
  .default([]);
