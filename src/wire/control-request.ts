import { z } from 'zod';
import {
  CONTROL_ACTIONS,
  type ControlAction,
  LEVELS,
  MAX_BUDGET_RATE,
  MAX_BUDGET_TOTAL,
  MAX_REASON_LENGTH,
  PROTOCOL,
} from './constants.ts';
import { type ControlCommand, type ControlOptions, OPTION_RULES } from './control-options.ts';
import type { Shape } from './documented.ts';
import { ANY_CATEGORY_NAME } from './names.ts';
import { controlTargetSchema, lineFilterSchema, whenSchema } from './target.ts';
import { DURATION_SCHEMA, parseDuration } from './time.ts';

/** The version of the protocol that a body may state. Another one is refused before the body is validated. */
export const statedProtocol = z.string().meta({ const: PROTOCOL }).optional();

const categoryName = z
  .string()
  .regex(
    ANY_CATEGORY_NAME,
    'must be a category name: ^[A-Z][A-Z0-9_]{0,63}$, or ^X-[A-Z][A-Z0-9_-]{0,61}$ for a custom one',
  );

const categoryList = z
  .array(categoryName)
  .min(1, 'must hold at least one category')
  .refine((names) => new Set(names).size === names.length, 'must not hold a category twice')
  .meta({ uniqueItems: true });

export const categorySelection = z.union([categoryName.transform((name) => [name]), categoryList], {
  error: ({ input }) => (input === undefined ? 'is required' : undefined),
});

export const duration = z
  .union([z.number(), z.string()])
  .transform((value, context) => {
    const seconds = parseDuration(value);
    if (seconds !== undefined) return seconds;
    context.addIssue({
      code: 'custom',
      message: 'must be a positive whole number of seconds, or <n>s, <n>m, <n>h or <n>d',
    });
    return z.NEVER;
  })
  .meta(DURATION_SCHEMA);

/** Without C0 and C1 control characters: a reason is printed in logs and consoles. */
const NO_CONTROL_CHARACTERS = /^\P{Cc}*$/u;

const total = z.number().int().min(1).max(MAX_BUDGET_TOTAL);

export const controlBudgetSchema = z
  .strictObject({
    callsPerSecond: z.number().int().min(1).max(MAX_BUDGET_RATE).optional(),
    calls: total.optional(),
    bytes: total.optional(),
  })
  .refine(
    (given) => Object.values(given).some((limit) => limit !== undefined),
    'must hold callsPerSecond, calls or bytes',
  )
  .meta({ minProperties: 1 });

const budget = z.union([z.literal(false), controlBudgetSchema]);

const options = z.strictObject({
  temporary: z.boolean().optional(),
  duration: duration.optional(),
  reason: z
    .string()
    .min(1, 'must hold at least one character')
    .max(MAX_REASON_LENGTH, `must hold at most ${MAX_REASON_LENGTH} characters`)
    .regex(NO_CONTROL_CHARACTERS, 'must not hold control characters')
    // Audit entries are hashed as canonical JSON, which excludes lone surrogates (RFC 8785, section 3.2.2.2).
    .refine((text) => text.isWellFormed(), 'must not hold half of a surrogate pair')
    .optional(),
  otelrdcp_budget: budget.optional(),
  otelrdcp_dryRun: z.boolean().optional(),
  otelrdcp_only: z.literal('temporary', "must be 'temporary'").optional(),
  otelrdcp_target: controlTargetSchema.optional(),
  otelrdcp_filter: lineFilterSchema.optional(),
  otelrdcp_when: whenSchema.optional(),
  otelrdcp_level: z.enum(LEVELS).optional(),
  otelrdcp_record: z.literal(true, 'must be true').optional(),
  otelrdcp_permanent: z.literal(true, 'must be true').optional(),
  otelrdcp_sign: z.literal(true, 'must be true').optional(),
  otelrdcp_id: z
    .string()
    .min(1, 'must hold at least one character')
    .max(64, 'must hold at most 64 characters')
    .optional(),
} satisfies Shape<ControlOptions>);

/** The rules as JSON Schema: one holds where the option is absent, or what the rule asks for is there. */
function conditionsOf({ option, member, values, actions, lasting, needs, excludes }: (typeof OPTION_RULES)[number]) {
  const options = (properties: object) => ({ properties: { options: { properties } } });
  const given = member === undefined ? false : { properties: { [member]: false } };
  const absent = options({ [option]: values === undefined ? given : { not: { enum: values } } });
  return [
    ...(actions === undefined ? [] : [{ properties: { action: { enum: actions } } }]),
    ...(lasting === undefined ? [] : [options({ temporary: { const: true } })]),
    ...(needs === undefined ? [] : [{ properties: { options: { required: [needs] } } }]),
    ...(excludes === undefined ? [] : [options(Object.fromEntries(excludes.map((name) => [name, false])))]),
  ].map((condition) => ({ anyOf: [condition, absent] }));
}

const WITHOUT_CATEGORIES: readonly ControlAction[] = ['reset', 'status'];

/** Unknown fields are refused: a misspelt `duration` must not make a change permanent. One name becomes a list, a duration seconds. */
export const controlRequestSchema = z
  .strictObject({
    action: z.enum(CONTROL_ACTIONS),
    categories: categorySelection.optional(),
    options: options.optional(),
    protocol: statedProtocol,
  } satisfies Shape<ControlCommand & { readonly protocol?: string }>)
  .superRefine(({ action, categories, options = {} }, context) => {
    const reject = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
    if (categories === undefined && !WITHOUT_CATEGORIES.includes(action)) {
      reject(['categories'], `is required for ${action}`);
    }
    for (const { option, member, values, actions, lasting, needs, excludes, otherwise } of OPTION_RULES) {
      const value: unknown = member === undefined ? options[option] : Reflect.get(Object(options[option]), member);
      if (value === undefined || values?.includes(value) === false) continue;
      const path = ['options', option, ...(member === undefined ? [] : [member])];
      const other = excludes?.find((name) => options[name] !== undefined);
      if (actions?.includes(action) === false) reject(path, `is not allowed for ${action}`);
      else if (lasting !== undefined && options.temporary === false) reject(path, lasting);
      else if (needs !== undefined && options[needs] === undefined) reject(path, `needs ${needs}`);
      else if (other !== undefined) reject(path, otherwise ?? `cannot be combined with ${other}`);
    }
  })
  .meta({
    allOf: [
      { anyOf: [{ properties: { action: { enum: WITHOUT_CATEGORIES } } }, { required: ['categories'] }] },
      ...OPTION_RULES.flatMap(conditionsOf),
    ],
  });

export type ControlRequest = z.infer<typeof controlRequestSchema>;

/** The body of `POST /rdcp/v1/approve`. */
export const approvalRequestSchema = z.strictObject({
  id: z.string().regex(/^[0-9a-f]{12}$/, 'must be the id of a change that waits: 12 of 0-9 and a-f'),
  /** Ends its waiting instead. */
  decline: z.literal(true).optional(),
  protocol: statedProtocol,
});
