import { z } from 'zod';
import { CONTROL_ACTIONS, MAX_BUDGET_RATE, MAX_BUDGET_TOTAL, MAX_REASON_LENGTH } from './constants.ts';
import { isCategoryName } from './names.ts';
import { parseDuration } from './time.ts';

const categoryName = z
  .string()
  .refine(
    isCategoryName,
    'must be a category name: ^[A-Z][A-Z0-9_]{0,63}$, or ^X-[A-Z][A-Z0-9_-]{0,61}$ for a custom one',
  );

const categoryList = z
  .array(categoryName)
  .min(1, 'must hold at least one category')
  .refine((names) => new Set(names).size === names.length, 'must not hold a category twice');

/** One category or several, parsed to a list. */
export const categorySelection = z.union([categoryName.transform((name) => [name]), categoryList], {
  error: ({ input }) => (input === undefined ? 'is required' : undefined),
});

/** A Duration, parsed to whole seconds. */
export const duration = z.union([z.number(), z.string()]).transform((value, context) => {
  const seconds = parseDuration(value);
  if (seconds !== undefined) return seconds;
  context.addIssue({
    code: 'custom',
    message: 'must be a positive whole number of seconds, or <n>s, <n>m, <n>h or <n>d',
  });
  return z.NEVER;
});

/** C0 and C1 control characters. A reason is printed in logs and consoles. */
const CONTROL_CHARACTERS = /\p{Cc}/u;

const total = z.number().int().min(1).max(MAX_BUDGET_TOTAL);

/** What the control's categories may emit; `false` for as much as they like. */
const budget = z.union([
  z.literal(false),
  z
    .strictObject({
      callsPerSecond: z.number().int().min(1).max(MAX_BUDGET_RATE).optional(),
      calls: total.optional(),
      bytes: total.optional(),
    })
    .refine(
      (given) => Object.values(given).some((limit) => limit !== undefined),
      'must hold callsPerSecond, calls or bytes',
    ),
]);

const options = z.strictObject({
  temporary: z.boolean().optional(),
  duration: duration.optional(),
  reason: z
    .string()
    .min(1, 'must hold at least one character')
    .max(MAX_REASON_LENGTH, `must hold at most ${MAX_REASON_LENGTH} characters`)
    .refine((text) => !CONTROL_CHARACTERS.test(text), 'must not hold control characters')
    // Audit entries are hashed as canonical JSON, which excludes lone surrogates (RFC 8785, section 3.2.2.2).
    .refine((text) => text.isWellFormed(), 'must not hold half of a surrogate pair')
    .optional(),
  otelrdcp_budget: budget.optional(),
  otelrdcp_dryRun: z.boolean().optional(),
});

/**
 * The body of `POST /rdcp/v1/control`. Unknown fields are rejected, so that a misspelt `duration` cannot make a change
 * permanent. A single category name is parsed to a list; the duration to seconds.
 */
export const controlRequestSchema = z
  .strictObject({
    action: z.enum(CONTROL_ACTIONS),
    categories: categorySelection.optional(),
    options: options.optional(),
    protocol: z.string().optional(),
  })
  .superRefine((request, context) => {
    const reject = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
    const { temporary, duration, otelrdcp_budget } = request.options ?? {};
    const changesState = request.action !== 'reset' && request.action !== 'status';
    if (changesState && request.categories === undefined) reject(['categories'], `is required for ${request.action}`);
    if (!changesState && temporary !== undefined)
      reject(['options', 'temporary'], `is not allowed for ${request.action}`);
    if (!changesState && duration !== undefined)
      reject(['options', 'duration'], `is not allowed for ${request.action}`);
    if (otelrdcp_budget !== undefined && (!changesState || request.action === 'disable'))
      reject(['options', 'otelrdcp_budget'], `is not allowed for ${request.action}`);
    if (temporary === false && otelrdcp_budget !== undefined)
      reject(['options', 'otelrdcp_budget'], 'needs a temporary control');
    if (temporary === false && duration !== undefined) reject(['options', 'duration'], 'contradicts temporary: false');
  });

export type ControlRequest = z.infer<typeof controlRequestSchema>;
