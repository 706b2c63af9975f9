import { z } from 'zod';
import { duration } from '../../wire/control-request.ts';
import type { Shape } from '../../wire/documented.ts';
import { lineFilterSchema, targetSchema, whenSchema } from '../../wire/target.ts';
import type * as Options from '../options.ts';
import { categoryName, optionalIdentifier, text, upToAnHour } from './values.ts';

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
