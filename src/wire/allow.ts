import { z } from 'zod';
import { ALLOWED_ACTIONS, type AllowedAction, TENANT_PATTERN } from './constants.ts';
import { controlBudgetSchema } from './control-request.ts';
import type { Shape } from './documented.ts';
import { given } from './json-text.ts';
import type { ControlBudget } from './messages.ts';
import { commonPatterns } from './names.ts';
import { parseDuration } from './time.ts';

/** What a credential may do with categories. It narrows the scopes of the credential, and adds nothing to them. */
export interface Allow {
  /** Categories that it may switch, tail and forecast: names, beginnings of names such as `DB_*`, or `*`. */
  readonly categories: readonly string[];
  /** `enable`, `disable`, `toggle`, `reset`, `tail`, `forecast`. @default all that its scopes allow */
  readonly actions?: readonly AllowedAction[] | undefined;
  /** Longest control and tail: seconds, or `<n>s|m|h|d`. Permanent settings are then not changed. @default the server's */
  readonly maxDuration?: number | string | undefined;
  /**
   * Largest budget of what it switches on, for each category. A control without a budget gets this one; a permanent one is refused.
   * @default the configured budget
   */
  readonly maxBudget?: ControlBudget | undefined;
  /** `redacted`: tails hide the values of attributes. @default only what redaction hides */
  readonly tail?: 'redacted' | undefined;
  /** Tenants for whom it may do that: ids, prefixes such as `b*`, or `*`; never everybody. @default all that it may address */
  readonly tenants?: readonly string[] | undefined;
}

/** The limits of a credential beside its scopes. */
export interface Limits {
  /** @default all that its scopes allow */
  readonly allow?: Allow | undefined;
  /** Whether a change beyond `allow` waits for the approval of another identity, instead of being refused. @default false */
  readonly approval?: boolean | undefined;
}

const CATEGORY_PATTERN = /^(?:[A-Z][A-Z0-9_]{0,63}|X-[A-Z][A-Z0-9_-]{0,61}|[A-Z0-9_-]{0,63}\*)$/;

export const tenantPatterns = z
  .array(z.string().regex(TENANT_PATTERN, 'must be the id of a tenant, or a prefix of ids with * at its end'))
  .min(1, 'must hold at least one tenant');

export const allowSchema = z.strictObject({
  categories: z
    .array(z.string().regex(CATEGORY_PATTERN, 'must be a category name, a beginning of names such as DB_*, or *'), {
      error: ({ input }) =>
        input === undefined ? 'is required: names, or beginnings of names such as DB_*' : undefined,
    })
    .min(1, 'must hold at least one category'),
  actions: z.array(z.enum(ALLOWED_ACTIONS)).min(1, 'must hold at least one action').optional(),
  maxDuration: z
    .union([z.number(), z.string()])
    .refine((value) => parseDuration(value) !== undefined, 'must be a duration such as 900 or 15m')
    .optional(),
  maxBudget: controlBudgetSchema.optional(),
  tail: z.literal('redacted', "must be 'redacted'").optional(),
  tenants: tenantPatterns.optional(),
} satisfies Shape<Allow>);

/** Returns the limits of a credential, and no more of it. Without `allow` there are none. */
export function limitsOf({ allow, approval = false }: Limits): Limits {
  return allow === undefined ? {} : { allow, approval };
}

/** Returns limits within both; `undefined` if nothing is within both. */
export function commonLimits(one: Limits, other: Limits): Limits | undefined {
  if (one.allow === undefined) return limitsOf(other);
  if (other.allow === undefined) return limitsOf(one);
  const allow = commonAllow(one.allow, other.allow);
  const { categories, actions, tenants } = allow;
  if ([categories, actions, tenants].some((list) => list?.length === 0)) return undefined;
  return limitsOf({ allow, approval: one.approval === true && other.approval === true });
}

function commonAllow(one: Allow, other: Allow): Allow {
  const tenants = common(one.tenants, other.tenants, commonPatterns);
  const actions = common(one.actions, other.actions, (these, those) => these.filter((each) => those.includes(each)));
  const maxDuration = common(one.maxDuration, other.maxDuration, (a, b) =>
    (parseDuration(a) ?? 0) < (parseDuration(b) ?? 0) ? a : b,
  );
  const maxBudget = common(one.maxBudget, other.maxBudget, commonBudget);
  const tail = one.tail ?? other.tail;
  const categories = commonPatterns(one.categories, other.categories);
  return { categories, ...given({ actions, maxDuration, maxBudget, tail, tenants }) };
}

function commonBudget(one: ControlBudget, other: ControlBudget): ControlBudget {
  const least = (name: keyof ControlBudget) => common(one[name], other[name], Math.min);
  return given({ callsPerSecond: least('callsPerSecond'), calls: least('calls'), bytes: least('bytes') });
}

/** What both limit, by `both`; else what one of them limits. */
function common<T>(one: T | undefined, other: T | undefined, both: (one: T, other: T) => T): T | undefined {
  return one === undefined || other === undefined ? (one ?? other) : both(one, other);
}
