import type { Clock, Schedule } from '../clock.ts';
import type { CategoryDescriptor } from '../gate/types.ts';
import type { BudgetState, ControlBudget } from '../protocol/messages.ts';
import { TICK_MS, TICKS_PER_SECOND, TokenBuckets } from './buckets.ts';
import { Budget, type Rate, RateBuckets, type Totals } from './budget.ts';

type Named = Pick<CategoryDescriptor, 'index' | 'name'>;

/** The configured budgets: `controls.budget`. */
export interface ConfiguredBudgets {
  /** For each category without one of its own. */
  readonly each: Rate;
  /** `false`: unlimited, and outside the process budget. */
  readonly categories: { readonly [name: string]: Rate | false };
  /** For all categories together. */
  readonly process: Rate | false;
}

/** The option `controls.budget` with its defaults, except those that depend on other values. */
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

/** Default burst, in seconds of the rate. */
const BURST_SECONDS = 2;

/** A category's budget inherits missing values; its burst follows from its own rate. */
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

/** Calls of a category that its budget dropped. */
export interface Surplus {
  readonly dropped: number;
  /** Time of the first drop, milliseconds since the epoch. */
  readonly since: number;
}

export interface BudgetsOptions {
  readonly configured: ConfiguredBudgets | false;
  readonly clock: Pick<Clock, 'now'>;
  readonly schedule: Schedule;
  /** Called when another budget applies to a category. */
  readonly changed: (category: Named) => void;
  /** Reports the number of dropped calls, ten seconds after the first one. */
  readonly overspent: (category: Named, surplus: Surplus) => void;
}

/** The budget of each call; `undefined` means none. */
export interface Budgets {
  of(category: Named): Budget | undefined;
  /** Budgets of tenant controls, if any. */
  ofTenants(category: Named): ReadonlyMap<string, Budget | undefined> | undefined;
  /** The budget of a call in a tenant's context. */
  ofCall(category: Named, tenantId: string | undefined): Budget | undefined;
  /**
   * @param control `undefined` restores the configured budget
   * @param exhausted called once, when a total is used up
   */
  setControl(
    category: Named,
    tenantId: string | undefined,
    control: ControlBudget | false | undefined,
    exhausted?: () => void,
  ): void;
  /** Configured calls per second of a category; `undefined` when unlimited. */
  configuredRate(name: string): number | undefined;
  /** Configured budget of a category; `undefined` when unlimited. */
  configured(name: string): Rate | undefined;
  /** The budget state outside of tenants, or of one tenant. @returns `undefined` when nothing is limited */
  stateOf(category: Named, tenantId?: string): BudgetState | undefined;
  close(): void;
}

/** Ticks from the first dropped call to the record about it. */
const REPORT_TICKS = 10 * TICKS_PER_SECOND;
/** No tenant has this name. */
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
  /** By category, then by tenant; the global one under {@link GLOBAL}. `undefined`: no limit. */
  const controls = new Map<number, Map<string, Budget | undefined>>();
  const owners = new Map<Budget, Owner>();
  const overspent = new Map<Budget, { readonly category: Named; readonly since: number; readonly reportAt: number }>();
  let tick = 0;
  let stop: (() => void) | undefined;

  const keeper = {
    taken() {
      stop ??= schedule(TICK_MS, onTick);
    },
    overspent(budget: Budget) {
      stop ??= schedule(TICK_MS, onTick);
      overspent.set(budget, {
        category: owners.get(budget)!.category,
        since: clock.now(),
        reportAt: tick + REPORT_TICKS,
      });
    },
    exhausted(budget: Budget) {
      owners.get(budget)?.exhausted?.();
    },
  };

  function onTick(): void {
    tick += 1;
    const full = buckets.refill();
    for (const [budget, { reportAt }] of overspent) if (tick >= reportAt) tell(budget);
    const idle = full && overspent.size === 0;
    const second = idle || tick % TICKS_PER_SECOND === 0;
    for (const budget of owners.keys()) budget.refilled(second);
    if (!idle) return;
    stop?.();
    stop = undefined;
  }

  function tell(budget: Budget): void {
    const { category, since } = overspent.get(budget)!;
    const dropped = budget.takeDropped();
    overspent.delete(budget);
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

  function configuredOf(name: string): Rate | undefined {
    const rate = rateOf({ name });
    return rate === false ? undefined : rate;
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
    configuredRate: (name) => configuredOf(name)?.callsPerSecond,
    configured: configuredOf,
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
