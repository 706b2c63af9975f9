import type { DropCode } from '../../gate/drops.ts';
import type {
  AttributeFailure,
  CallAttributes,
  CategoryDescriptor,
  OwnLine,
  Refusal,
  TapOutcome,
  TappedCall,
} from '../../gate/types.ts';
import { diagnostics } from '../../otel/diagnostics.ts';
import { ATTR_CATEGORY_NAME, ATTR_DROPPED_COUNT, ATTR_DROPPED_SINCE } from '../../otel/semconv.ts';
import { timestamp } from '../../wire/time.ts';
import type { Activations, ActiveCategory } from './activations.ts';
import type { Budget } from './budget.ts';
import type { Budgets, Surplus } from './budgets.ts';
import type { CallBuilder } from './built-call.ts';
import type { Outputs } from './outputs.ts';
import type { Call } from './record.ts';
import type { Attached, Tap } from './taps.ts';

type Outcome = AttributeFailure | DropCode | undefined;

export interface PipelineParts {
  readonly budgets: Budgets;
  readonly builder: CallBuilder;
  readonly outputs: Pick<Outputs, 'current'>;
  readonly taps: Attached<Tap>;
  readonly activations: Activations;
}

/** The budget and taps of a category, until one changes. */
interface Plan {
  readonly budget: Budget | undefined;
  /** Whether tenants have budgets of their own. */
  readonly byTenant: boolean;
  readonly isTapped: boolean;
}

const NO_TAPS: readonly Tap[] = [];

/** The way of a call that is on: budget, attributes with redaction, taps, output. */
export class Pipeline {
  /** The budget of each category, where every call draws on the same one. The gate asks it first. */
  readonly refusals: (Refusal | undefined)[] = [];
  readonly #parts: PipelineParts;
  /** Indexed by category. */
  readonly #plans: (Plan | undefined)[] = [];

  constructor(parts: PipelineParts) {
    this.#parts = parts;
  }

  /** Called when another budget or tap applies to a category. */
  forget(index: number): void {
    this.#plans[index] = undefined;
    this.refusals[index] = undefined;
  }

  emit(category: CategoryDescriptor, message: string, given: CallAttributes, tenantId: string | undefined): Outcome {
    const plan = this.#plans[category.index] ?? this.#plan(category);
    const budget = plan.byTenant ? this.#parts.budgets.ofCall(category, tenantId) : plan.budget;
    const dropped = budget?.admit();
    const taps = plan.isTapped ? this.#tapsOf(category, tenantId) : NO_TAPS;
    if (dropped !== undefined && taps.length === 0) return dropped;
    const call = this.#parts.builder.build(category.name, message, given, tenantId);
    if (taps.length > 0) give(taps, category, call);
    if (dropped !== undefined) return dropped;
    const own = taps.length === 0 ? call : copyOf(call);
    const refused = this.#parts.outputs.current()(own);
    if (refused === undefined) budget?.spend(own.bytes);
    return refused ?? call.failure;
  }

  /** The same for a line that its logger writes: budget and taps. @returns why it must not be written */
  pass(category: CategoryDescriptor, { bytes, describe, given = [] }: OwnLine, tenantId: string | undefined): Outcome {
    const plan = this.#plans[category.index] ?? this.#plan(category);
    const budget = plan.byTenant ? this.#parts.budgets.ofCall(category, tenantId) : plan.budget;
    const dropped = budget?.admit();
    if (dropped === undefined) budget?.spend(bytes);
    const taps = plan.isTapped ? this.#tapsOf(category, tenantId) : NO_TAPS;
    if (taps.length === 0) return dropped;
    try {
      const described = describe(given);
      if (described === undefined) return dropped;
      const { message, attributes } = described;
      const call = this.#parts.builder.build(category.name, message, attributes, tenantId);
      give(taps, category, call);
      return dropped ?? call.failure;
    } catch (error) {
      return dropped ?? { error };
    }
  }

  /**
   * Serves the activations and taps of a category that is off in this context.
   * @returns `undefined` when none took the call
   */
  tap({ category, message, given, tenantId, level, isOwn }: TappedCall): TapOutcome | undefined {
    const taps = this.#tapsOf(category, tenantId);
    const activations = this.#parts.activations.taking(category, tenantId, level);
    if (taps.length + activations.length === 0) return undefined;
    let built: Call | undefined;
    const build = () => (built ??= this.#parts.builder.build(category.name, message, given, tenantId));
    const { by, dropped } = admitted(activations, tenantId, build);
    if (built === undefined && taps.length === 0 && by === undefined)
      return { activated: dropped !== undefined, dropped };
    const call = build();
    const { failure } = call;
    give(taps, category, call);
    const isLogged = by !== undefined || taps.some((tap) => tap.logs === true);
    const own = isLogged && isOwn !== true ? copyOf(call) : call;
    const refused = own === call ? undefined : this.#parts.outputs.current()(own);
    if (by === undefined) return { activated: dropped !== undefined, dropped, failure };
    if (refused === undefined) by.spend(own);
    return { activated: true, dropped: refused, failure };
  }

  /** Writes the record about calls that the budget dropped. */
  warn({ name }: Pick<CategoryDescriptor, 'name'>, { dropped, since }: Surplus): void {
    const from = timestamp(since);
    try {
      this.#parts.outputs.current()({
        severity: 'WARN',
        message: `${dropped} debug calls since ${from} were dropped: over the budget`,
        attributes: { [ATTR_CATEGORY_NAME]: name, [ATTR_DROPPED_COUNT]: dropped, [ATTR_DROPPED_SINCE]: from },
        simple: true,
        tenantId: undefined,
        bytes: 0,
      });
    } catch (error) {
      diagnostics.error('rdcp: a record about dropped debug calls failed', error);
    }
  }

  #plan(category: CategoryDescriptor): Plan {
    const { budgets, taps } = this.#parts;
    const plan = {
      budget: budgets.of(category),
      byTenant: budgets.hasTenants(category),
      isTapped: taps.of(category).length > 0,
    };
    this.#plans[category.index] = plan;
    if (!plan.byTenant) this.refusals[category.index] = plan.budget;
    return plan;
  }

  #tapsOf(category: CategoryDescriptor, tenantId: string | undefined): readonly Tap[] {
    return this.#parts.taps.of(category).filter((tap) => {
      if (tap.matches(tenantId)) return tap.admits();
      tap.missed?.(tenantId);
      return false;
    });
  }
}

/** The first activation that the call belongs to and that has room for it; otherwise why the call is dropped, if it is. */
function admitted(
  activations: readonly ActiveCategory[],
  tenantId: string | undefined,
  build: () => Call,
): { readonly by?: ActiveCategory; readonly dropped?: DropCode | undefined } {
  let dropped: DropCode | undefined;
  for (const each of activations) {
    const refused = each.admit(tenantId);
    if (refused !== undefined) {
      // Without its line, a call does not belong to one that filters.
      if (!each.filtersLines) dropped = refused;
      continue;
    }
    const verdict = each.admitLine(build());
    if (verdict === true) return { by: each };
    if (verdict !== false) dropped = verdict;
  }
  return { dropped };
}

/** Passes the call to each tap that wants it. A tap that throws affects no other output. */
function give(taps: readonly Tap[], category: CategoryDescriptor, call: Call): void {
  for (const tap of taps) {
    try {
      tap.take(category, call);
    } catch (error) {
      diagnostics.error('rdcp: a tap of debug calls failed', error);
    }
  }
}

/** Outputs modify the attributes, which a tap may have kept. */
function copyOf(call: Call): Call {
  return { ...call, attributes: { ...call.attributes } };
}
