import type { Clock, Schedule } from '../clock.ts';
import type { CategoryDescriptor } from '../gate/types.ts';
import type { BudgetState, ControlBudget } from '../protocol/messages.ts';
import { TICK_MS, TICKS_PER_SECOND, TokenBuckets } from './buckets.ts';
import { Budget, type Rate, RateBuckets, type Totals } from './budget.ts';

type Named = Pick<CategoryDescriptor, 'index' | 'name'>;

/** What is configured: `controls.budget`. */
export interface ConfiguredBudgets {
  /** Of each category that has none of its own. */
  readonly each: Rate;
  /** `false`: as much as it likes, and the process's budget is not asked. */
  readonly categories: { readonly [name: string]: Rate | false };
  /** Of all categories together. */
  readonly process: Rate | false;
}

/** The option `controls.budget`, with what it leaves out filled in as far as it does not follow from the rest. */
interface BudgetConfig extends RateConfig {
  readonly callsPerSecond: number;
  readonly categories: { readonly [name: string]: RateConfig | false };
  readonly process: { readonly callsPerSecond: number; readonly bytesPerSecond: number } | false;
}

interface RateConfig {
  readonly callsPerSecond?: number | undefined;
  readonly burst?: number | undefined;
  readonly bytesPerSecond?: number | undefined;
}

/** A burst that nobody configured, in seconds of the rate. */
const BURST_SECONDS = 2;

/** What a category's budget leaves out is as for all; a burst follows from the rate that is given with it. */
export function budgetsOf(config: BudgetConfig | false): ConfiguredBudgets | false {
  if (config === false) return false;
  const { callsPerSecond, burst = callsPerSecond * BURST_SECONDS, bytesPerSecond, categories, process } = config;
  const each: Rate = { callsPerSecond, burst, bytesPerSecond };
  const single = (given: RateConfig): Rate => ({
    callsPerSecond: given.callsPerSecond ?? callsPerSecond,
    burst: given.burst ?? (given.callsPerSecond === undefined ? burst : given.callsPerSecond * BURST_SECONDS),
    bytesPerSecond: given.bytesPerSecond ?? bytesPerSecond,
  });
  return {
    each,
    categories: Object.fromEntries(
      Object.entries(categories).map(([name, given]) => [name, given === false ? false : single(given)]),
    ),
    process: process !== false && { ...process, burst: process.callsPerSecond },
  };
}

/** Calls of a category that were dropped by its budget. */
export interface Surplus {
  readonly dropped: number;
  /** When the first of them was, milliseconds since the epoch. */
  readonly since: number;
}

export interface BudgetsOptions {
  readonly configured: ConfiguredBudgets | false;
  readonly clock: Pick<Clock, 'now'>;
  readonly schedule: Schedule;
  /** Another budget applies to a category. */
  readonly changed: (category: Named) => void;
  /** Says, ten seconds after a first call was dropped, how many there were. */
  readonly overspent: (category: Named, surplus: Surplus) => void;
}

/** Which budget a call draws on: `undefined` for none. */
export interface Budgets {
  of(category: Named): Budget | undefined;
  /** Those of controls by tenant, where there are any. */
  ofTenants(category: Named): ReadonlyMap<string, Budget | undefined> | undefined;
  /** The one that a call in that tenant's context draws on. */
  ofCall(category: Named, tenantId: string | undefined): Budget | undefined;
  /**
   * @param control `undefined`: that of the configuration again
   * @param exhausted called once, when a total of it is used up
   */
  setControl(
    category: Named,
    tenantId: string | undefined,
    control: ControlBudget | false | undefined,
    exhausted?: () => void,
  ): void;
  /** Calls a second that are configured for a category; `undefined` where it has no limit. */
  configuredRate(name: string): number | undefined;
  /** What applies to calls in no tenant's context, or in that tenant's. @returns `undefined` where nothing is limited */
  stateOf(category: Named, tenantId?: string): BudgetState | undefined;
  close(): void;
}

/** Ticks from the first dropped call to the record about it and those after it. */
const TELL_TICKS = 10 * TICKS_PER_SECOND;
/** No tenant has the name. */
const GLOBAL = '';

interface Owner {
  readonly category: Named;
  readonly exhausted?: (() => void) | undefined;
}

export function createBudgets(options: BudgetsOptions): Budgets {
  const { configured, clock, schedule } = options;
  const buckets = new TokenBuckets();
  const shared =
    configured === false || configured.process === false ? undefined : new RateBuckets(buckets, configured.process);
  const own: (Budget | undefined)[] = [];
  /** By category, then by tenant; that of everybody under {@link GLOBAL}. `undefined`: no limit. */
  const controls = new Map<number, Map<string, Budget | undefined>>();
  const owners = new Map<Budget, Owner>();
  const overspent = new Map<Budget, { readonly category: Named; readonly since: number; readonly tellAt: number }>();
  let tick = 0;
  let stop: (() => void) | undefined;

  const keeper = {
    taken() {
      stop ??= schedule(TICK_MS, onTick);
    },
    overspent(budget: Budget) {
      stop ??= schedule(TICK_MS, onTick);
      overspent.set(budget, { category: owners.get(budget)!.category, since: clock.now(), tellAt: tick + TELL_TICKS });
    },
    exhausted(budget: Budget) {
      owners.get(budget)?.exhausted?.();
    },
  };

  function onTick(): void {
    tick += 1;
    const full = buckets.refill();
    for (const [budget, { tellAt }] of overspent) if (tick >= tellAt) tell(budget);
    const idle = full && overspent.size === 0;
    const second = idle || tick % TICKS_PER_SECOND === 0;
    for (const budget of owners.keys()) budget.refilled(second);
    if (!idle) return;
    stop?.();
    stop = undefined;
  }

  function tell(budget: Budget): void {
    const { category, since } = overspent.get(budget)!;
    const { dropped } = budget;
    overspent.delete(budget);
    budget.dropped = 0;
    budget.refilled(false);
    options.overspent(category, { dropped, since });
  }

  function rateOf({ name }: Pick<Named, 'name'>): Rate | false {
    if (configured === false) return false;
    return Object.hasOwn(configured.categories, name) ? configured.categories[name]! : configured.each;
  }

  function open(owner: Owner, rate: Rate | false, totals: Totals = {}): Budget {
    const limited = rate !== false;
    const budget = new Budget(
      keeper,
      limited ? new RateBuckets(buckets, rate) : undefined,
      limited ? shared : undefined,
      totals,
    );
    owners.set(budget, owner);
    return budget;
  }

  function openControl(owner: Owner, control: ControlBudget | false): Budget | undefined {
    if (control === false) return undefined;
    const rate = rateOf(owner.category);
    const { callsPerSecond, ...totals } = control;
    if (callsPerSecond === undefined) return open(owner, rate, totals);
    const bytesPerSecond = rate === false ? undefined : rate.bytesPerSecond;
    return open(owner, { callsPerSecond, burst: callsPerSecond * BURST_SECONDS, bytesPerSecond }, totals);
  }

  function of(category: Named): Budget | undefined {
    const { index } = category;
    const ofControls = controls.get(index);
    if (ofControls?.has(GLOBAL) === true) return ofControls.get(GLOBAL);
    const rate = rateOf(category);
    if (rate === false) return undefined;
    own[index] ??= open({ category }, rate);
    return own[index];
  }

  function ofCall(category: Named, tenantId: string | undefined): Budget | undefined {
    const ofTenants = tenantId === undefined ? undefined : controls.get(category.index);
    return ofTenants?.has(tenantId!) === true ? ofTenants.get(tenantId!) : of(category);
  }

  return {
    of,
    ofTenants: ({ index }) => controls.get(index),
    ofCall,
    setControl(category, tenantId, control, exhausted) {
      const { index } = category;
      const key = tenantId ?? GLOBAL;
      const ofControls = controls.get(index) ?? new Map<string, Budget | undefined>();
      const before = ofControls.get(key);
      if (before !== undefined) {
        owners.delete(before);
        before.own?.close();
      }
      if (control === undefined) ofControls.delete(key);
      else ofControls.set(key, openControl({ category, exhausted }, control));
      if (ofControls.size === 0) controls.delete(index);
      else controls.set(index, ofControls);
      options.changed(category);
    },
    configuredRate(name) {
      const rate = rateOf({ name });
      return rate === false ? undefined : rate.callsPerSecond;
    },
    stateOf(category, tenantId) {
      const budget = ofCall(category, tenantId);
      return budget && stateOf(budget);
    },
    close() {
      stop?.();
      stop = undefined;
      for (const budget of overspent.keys()) tell(budget);
    },
  };
}

function stateOf({ own, callsLeft, bytesLeft }: Budget): BudgetState {
  return {
    ...(own && { ...rate(own), callsLeftNow: own.callsLeft }),
    ...(callsLeft < Number.POSITIVE_INFINITY && { callsLeft: Math.max(0, callsLeft) }),
    ...(bytesLeft < Number.POSITIVE_INFINITY && { bytesLeft: Math.max(0, bytesLeft) }),
  };
}

function rate({ rate: { callsPerSecond, burst, bytesPerSecond } }: RateBuckets): BudgetState {
  return { callsPerSecond, burst, ...(bytesPerSecond !== undefined && { bytesPerSecond }) };
}
