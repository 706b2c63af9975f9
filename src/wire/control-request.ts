import { z } from 'zod';
import {
  CONTROL_ACTIONS,
  isQuiet,
  LEVELS,
  MAX_BUDGET_RATE,
  MAX_BUDGET_TOTAL,
  MAX_REASON_LENGTH,
  PROTOCOL,
} from './constants.ts';
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

/** One category or several, parsed to a list. */
export const categorySelection = z.union([categoryName.transform((name) => [name]), categoryList], {
  error: ({ input }) => (input === undefined ? 'is required' : undefined),
});

/** A Duration, parsed to whole seconds. */
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

/** Limits of the control's categories; `false` for no limit. */
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
});

const action = (...names: readonly (typeof CONTROL_ACTIONS)[number][]) => ({ properties: { action: { enum: names } } });
const without = (...names: readonly string[]) => ({
  properties: { options: { properties: Object.fromEntries(names.map((name) => [name, false])) } },
});
const NO_TICKET = { properties: { options: { properties: { otelrdcp_target: { properties: { request: false } } } } } };
/** Options that make an activation or a document. */
const PARTS = ['otelrdcp_target', 'otelrdcp_filter', 'otelrdcp_when', 'otelrdcp_record', 'otelrdcp_sign'] as const;
const LASTING_LEVELS = LEVELS.filter((level) => !isQuiet(level));
/** As JSON Schema, what the schema checks in several fields together. */
const CONDITIONS = [
  { anyOf: [action('reset', 'status'), { required: ['categories'] }] },
  {
    anyOf: [
      action('enable', 'disable', 'toggle'),
      { properties: { options: { properties: { temporary: { const: false }, duration: false } } } },
    ],
  },
  { anyOf: [action('enable', 'toggle'), without('otelrdcp_budget')] },
  { anyOf: [action('reset'), without('otelrdcp_only')] },
  {
    anyOf: [action('enable'), without(...PARTS, 'otelrdcp_level')],
  },
  { anyOf: [without('otelrdcp_sign'), without('otelrdcp_dryRun')] },
  { anyOf: [without('otelrdcp_sign', 'otelrdcp_record'), NO_TICKET] },
  { anyOf: [without('otelrdcp_record'), without('otelrdcp_when', 'otelrdcp_budget', 'otelrdcp_sign')] },
  {
    anyOf: [
      without('otelrdcp_permanent'),
      {
        properties: {
          options: {
            required: ['otelrdcp_record'],
            properties: { duration: false, temporary: { const: false } },
          },
        },
      },
    ],
  },
  { anyOf: [action('disable', 'reset'), without('otelrdcp_id')] },
  {
    anyOf: [
      { properties: { options: { properties: { temporary: { const: true } } } } },
      { properties: { options: { required: ['otelrdcp_permanent'] } } },
      without('duration', 'otelrdcp_budget', ...PARTS),
    ],
  },
  {
    anyOf: [
      { properties: { options: { properties: { otelrdcp_level: { enum: LASTING_LEVELS } } } } },
      {
        properties: {
          options: {
            properties: { temporary: { const: true }, ...Object.fromEntries(PARTS.map((name) => [name, false])) },
          },
        },
      },
    ],
  },
];

/**
 * The body of `POST /rdcp/v1/control`. Unknown fields are rejected, so that a misspelt `duration` cannot make a change
 * permanent. A single category name is parsed to a list; the duration to seconds.
 */
export const controlRequestSchema = z
  .strictObject({
    action: z.enum(CONTROL_ACTIONS),
    categories: categorySelection.optional(),
    options: options.optional(),
    protocol: statedProtocol,
  })
  .superRefine((request, context) => {
    const reject = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
    const { temporary, duration, otelrdcp_budget, otelrdcp_only, otelrdcp_id, otelrdcp_level } = request.options ?? {};
    const changesState = request.action !== 'reset' && request.action !== 'status';
    if (changesState && request.categories === undefined) reject(['categories'], `is required for ${request.action}`);
    if (!changesState && temporary === true) reject(['options', 'temporary'], `is not allowed for ${request.action}`);
    if (!changesState && duration !== undefined)
      reject(['options', 'duration'], `is not allowed for ${request.action}`);
    if (otelrdcp_budget !== undefined && (!changesState || request.action === 'disable'))
      reject(['options', 'otelrdcp_budget'], `is not allowed for ${request.action}`);
    if (otelrdcp_only !== undefined && request.action !== 'reset')
      reject(['options', 'otelrdcp_only'], `is not allowed for ${request.action}`);
    if (otelrdcp_id !== undefined && request.action !== 'reset' && request.action !== 'disable')
      reject(['options', 'otelrdcp_id'], `is not allowed for ${request.action}`);
    const { otelrdcp_record, otelrdcp_permanent } = request.options ?? {};
    for (const name of PARTS) {
      if (request.options?.[name] === undefined) continue;
      if (request.action !== 'enable') reject(['options', name], `is not allowed for ${request.action}`);
      else if (temporary === false && otelrdcp_permanent === undefined)
        reject(['options', name], 'needs a temporary control');
    }
    if (otelrdcp_record !== undefined) {
      for (const name of ['otelrdcp_when', 'otelrdcp_budget', 'otelrdcp_sign'] as const)
        if (request.options?.[name] !== undefined) reject(['options', name], 'cannot be combined with otelrdcp_record');
    }
    if (otelrdcp_permanent !== undefined) {
      if (otelrdcp_record === undefined) reject(['options', 'otelrdcp_permanent'], 'needs otelrdcp_record');
      if (duration !== undefined) reject(['options', 'duration'], 'contradicts otelrdcp_permanent');
      if (temporary === true) reject(['options', 'temporary'], 'contradicts otelrdcp_permanent');
    }
    if (otelrdcp_level !== undefined && request.action !== 'enable')
      reject(['options', 'otelrdcp_level'], `is not allowed for ${request.action}`);
    else if (otelrdcp_level !== undefined && isQuiet(otelrdcp_level)) {
      if (temporary === false) reject(['options', 'otelrdcp_level'], `needs a temporary control for ${otelrdcp_level}`);
      if (PARTS.some((name) => request.options?.[name] !== undefined)) {
        const lasting = LASTING_LEVELS.join(', ');
        reject(
          ['options', 'otelrdcp_level'],
          `must be one of ${lasting} for a part of the work or of the lines, and for a document`,
        );
      }
    }
    const { otelrdcp_sign, otelrdcp_dryRun, otelrdcp_target } = request.options ?? {};
    if (otelrdcp_sign !== undefined && otelrdcp_dryRun !== undefined)
      reject(['options', 'otelrdcp_sign'], 'cannot be combined with otelrdcp_dryRun');
    const ticketless = otelrdcp_sign !== undefined ? 'otelrdcp_sign' : otelrdcp_record && 'otelrdcp_record';
    if (ticketless !== undefined && otelrdcp_target?.request !== undefined)
      reject(['options', 'otelrdcp_target', 'request'], `cannot be combined with ${ticketless}`);
    if (temporary === false && otelrdcp_budget !== undefined)
      reject(['options', 'otelrdcp_budget'], 'needs a temporary control');
    if (temporary === false && duration !== undefined) reject(['options', 'duration'], 'contradicts temporary: false');
  })
  .meta({ allOf: CONDITIONS });

export type ControlRequest = z.infer<typeof controlRequestSchema>;

/** The body of `POST /rdcp/v1/approve`. */
export const approvalRequestSchema = z.strictObject({
  id: z.string().regex(/^[0-9a-f]{12}$/, 'must be the id of a change that waits: 12 of 0-9 and a-f'),
  protocol: statedProtocol,
});
