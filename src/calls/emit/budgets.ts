import type { CategoryDescriptor } from '../../gate/types.ts';
import type { BudgetState, ControlBudget } from '../../wire/messages.ts';
import type { Clock, Schedule } from '../../wire/time/clock.ts';
import { Allowance, Budget, type Rate, TICK_MS, TICKS_PER_SECOND, type Totals } from './budget.ts';

type NamedCategory = Pick<CategoryDescriptor, 'index' | 'name'>;

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
  readonly changed: (category: NamedCategory) => void;
  /** Reports the number of dropped calls, ten seconds after the first one. */
  readonly overspent: (category: NamedCategory, surplus: Surplus) => void;
}

/** Ticks from the first dropped call to the record about it. */
const REPORT_TICKS = 10 * TICKS_PER_SECOND;
/** No tenant has this name. */
const GLOBAL = '';

/** The budget of each call; `undefined` means none. Functions that are handed on singly are bound. */
export class Budgets {
  readonly #options: BudgetsOptions;
  readonly #shared: Allowance | undefined;
  /** Configured budgets in use, by category. */
  readonly #own: (Budget | undefined)[] = [];
  /** The keys are the category, then the tenant; the global budget is under {@link GLOBAL}. `undefined`: no limit. */
  readonly #controls = new Map<number, Map<string, Budget | undefined>>();
  readonly #inUse = new Set<Budget>();
  /** Budgets that have dropped calls which are not reported yet. */
  readonly #overspent = new Map<Budget, { readonly since: number; readonly reportAt: number }>();
  #tick = 0;
  #stop: (() => void) | undefined;

  constructor(options: BudgetsOptions) {
    const { configured } = options;
    this.#options = options;
    this.#shared = configured === false || configured.process === false ? undefined : new Allowance(configured.process);
  }

  of(category: NamedCategory): Budget | undefined {
    const { index } = category;
    const controls = this.#controls.get(index);
    if (controls?.has(GLOBAL) === true) return controls.get(GLOBAL);
    if (this.configured(category.name) === undefined) return undefined;
    this.#own[index] ??= this.open(category, {});
    return this.#own[index];
  }

  /** Whether a tenant's control of the category has a budget of its own, or none. */
  hasTenants({ index }: NamedCategory): boolean {
    return this.#controls.has(index);
  }

  /** The budget of a call in a tenant's context. */
  ofCall(category: NamedCategory, tenantId: string | undefined): Budget | undefined {
    const controls = tenantId === undefined ? undefined : this.#controls.get(category.index);
    return controls?.has(tenantId!) === true ? controls.get(tenantId!) : this.of(category);
  }

  /**
   * @param control `undefined` restores the configured budget
   * @param exhausted called once, when a total is used up
   */
  readonly setControl = (
    category: NamedCategory,
    tenantId: string | undefined,
    control: ControlBudget | false | undefined,
    exhausted?: () => void,
  ): void => {
    const { index } = category;
    const key = tenantId ?? GLOBAL;
    const controls = this.#controls.get(index) ?? new Map<string, Budget | undefined>();
    const before = controls.get(key);
    if (before !== undefined) this.release(before);
    if (control === undefined) controls.delete(key);
    else controls.set(key, control === false ? undefined : this.open(category, control, exhausted));
    if (controls.size === 0) this.#controls.delete(index);
    else this.#controls.set(index, controls);
    this.#options.changed(category);
  };

  /** Configured budget of a category; `undefined` when unlimited. */
  readonly configured = (name: string): Rate | undefined => {
    const { configured } = this.#options;
    if (configured === false) return undefined;
    const { categories, each } = configured;
    const rate = Object.hasOwn(categories, name) ? categories[name]! : each;
    return rate === false ? undefined : rate;
  };

  /** Configured calls per second of a category; `undefined` when unlimited. */
  readonly configuredRate = (name: string): number | undefined => this.configured(name)?.callsPerSecond;

  /** The budget state outside of tenants, or of one tenant. @returns `undefined` when nothing is limited */
  readonly stateOf = (category: NamedCategory, tenantId?: string): BudgetState | undefined => {
    const budget = this.ofCall(category, tenantId);
    if (budget === undefined) return undefined;
    const { own, callsLeft, bytesLeft } = budget;
    return {
      ...(own && { ...stateOf(own.rate), callsLeftNow: own.callsLeft }),
      ...(callsLeft < Number.POSITIVE_INFINITY && { callsLeft: Math.max(0, callsLeft) }),
      ...(bytesLeft < Number.POSITIVE_INFINITY && { bytesLeft: Math.max(0, bytesLeft) }),
    };
  };

  used(budget: Budget): void {
    this.#stop ??= this.#options.schedule(TICK_MS, () => this.#onTick());
    if (budget.dropped === 0 || this.#overspent.has(budget)) return;
    this.#overspent.set(budget, { since: this.#options.clock.now(), reportAt: this.#tick + REPORT_TICKS });
  }

  close(): void {
    this.#stop?.();
    this.#stop = undefined;
    for (const budget of this.#overspent.keys()) this.#report(budget);
  }

  /**
   * Makes a budget of the category, in use until it is released.
   * @param exhausted called once, when a total is used up
   */
  open(category: NamedCategory, { callsPerSecond, ...totals }: ControlBudget, exhausted?: () => void): Budget {
    const configured = this.configured(category.name);
    const rate =
      callsPerSecond === undefined
        ? configured
        : { callsPerSecond, burst: callsPerSecond * BURST_SECONDS, bytesPerSecond: configured?.bytesPerSecond };
    const own = rate && new Allowance(rate);
    return this.#use(
      new Budget(this, category, { own, shared: own && this.#shared }, totals satisfies Totals, exhausted),
    );
  }

  /** Makes a budget that does not draw on that of the process. */
  openApart(category: NamedCategory, rate: Rate): Budget {
    return this.#use(new Budget(this, category, { own: new Allowance(rate), shared: undefined }));
  }

  #use(budget: Budget): Budget {
    this.#inUse.add(budget);
    return budget;
  }

  release(budget: Budget): void {
    this.#inUse.delete(budget);
  }

  #onTick(): void {
    this.#tick += 1;
    const sharedFull = this.#shared?.refill() ?? true;
    let full = sharedFull;
    for (const budget of this.#inUse) full = budget.refill(sharedFull) && full;
    for (const [budget, { reportAt }] of this.#overspent) if (this.#tick >= reportAt) this.#report(budget);
    if (!full || this.#overspent.size > 0) return;
    this.#stop?.();
    this.#stop = undefined;
  }

  #report(budget: Budget): void {
    const { since } = this.#overspent.get(budget)!;
    this.#overspent.delete(budget);
    this.#options.overspent(budget.category, { dropped: budget.takeDropped(), since });
  }
}

function stateOf({ callsPerSecond, burst, bytesPerSecond }: Rate): BudgetState {
  return { callsPerSecond, burst, ...(bytesPerSecond !== undefined && { bytesPerSecond }) };
}
