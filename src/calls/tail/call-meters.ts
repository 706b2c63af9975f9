import { ANY_LEVEL } from '../../gate/levels.ts';
import type { CategoryDescriptor } from '../../gate/types.ts';
import type { CallCounts } from '../../wire/call-counts.ts';
import type { When } from '../../wire/target.ts';
import type { Rate } from '../emit/budget.ts';
import { type Call, recordOf, textLine } from '../emit/record.ts';
import { Selection, type SelectionOptions } from '../emit/selection.ts';
import type { Tap } from '../emit/taps.ts';
import { type HeldOutput, RECORDED_RATE, type Recorder } from '../recorder/recorder.ts';
import { CallCounter } from './call-counter.ts';
import { type Counting, type Tapped, Tapping } from './tapping.ts';
import type { Measured, ProcessForecast, TapFilter } from './types.ts';

/** Most calls of a category that are built in one interval of the timer, and most of all categories of a forecast. */
const MAX_SAMPLES = { each: 10, all: 100 };

export interface CallMetersOptions extends Tapped, SelectionOptions {
  readonly work: SelectionOptions['work'] & Counting['work'];
  /** The configured budget of a category; `undefined` when unlimited. */
  readonly budgetOf: (name: string) => Rate | undefined;
  readonly now: () => number;
  /** Keeps calls until the outcome of their work is known. */
  readonly recorder: Pick<Recorder, 'record'>;
}

/** Measures the calls of one category. */
interface Meter extends Tap {
  /** Called at intervals. */
  tick(seconds: number): void;
  readonly result: Measured;
  end?(): void;
}

/** Measures the calls of some categories in this process. */
export class CallMeters {
  readonly #meters = new Map<string, Meter>();
  readonly #tapping: Tapping;
  readonly #selection: Selection;
  #milliseconds = 0;

  constructor(options: CallMetersOptions, filter: TapFilter) {
    const { categories, when } = filter;
    this.#selection = new Selection(filter, options);
    const share = Math.min(MAX_SAMPLES.each, MAX_SAMPLES.all / categories.length);
    this.#tapping = new Tapping(options, categories, (category) => {
      const { name } = category;
      const meter =
        when === undefined
          ? new CallMeter(options, this.#selection, share, options.budgetOf(name))
          : new RecordedMeter(options, this.#selection, { category, when });
      this.#meters.set(name, meter);
      return meter;
    });
  }

  /** Called at intervals. */
  tick(milliseconds: number): void {
    this.#milliseconds += milliseconds;
    for (const meter of this.#meters.values()) meter.tick(milliseconds / 1000);
  }

  /** Taps categories that were registered since. */
  look(): void {
    this.#tapping.look();
  }

  /** The measurement up to the last tick. */
  get result(): ProcessForecast {
    return {
      seconds: Math.max(1, this.#milliseconds) / 1000,
      categories: Object.fromEntries([...this.#meters].map(([name, { result }]) => [name, result])),
    };
  }

  end(): void {
    this.#tapping.end();
    this.#selection.end();
    for (const meter of this.#meters.values()) meter.end?.();
  }
}

/** Counts the calls of one category, and builds one in so many to measure its size. */
class CallMeter implements Meter {
  readonly #options: CallMetersOptions;
  readonly #selection: Selection;
  readonly #counter: CallCounter;
  readonly #budget: BudgetModel | undefined;
  #calls = 0;
  /** Calls in the current interval. */
  #recent = 0;
  /** Calls that may be built in an interval. Below one, what is saved over several intervals is one. */
  readonly #share: number;
  #samplesLeft: number;
  /** One call in so many is built. */
  #every = 1;
  #untilNext = 1;
  /** Sums over the built calls, each of which stands for {@link CallMeter.#every} calls. */
  #built = 0;
  /** The same for those of them that the filter passes. */
  #weight = 0;
  #bytes = 0;

  constructor(options: CallMetersOptions, selection: Selection, share: number, budget: Rate | undefined) {
    this.#options = options;
    this.#selection = selection;
    this.#counter = new CallCounter(selection, () => options.work.attributeNames());
    this.#share = share;
    // A category with a single call has a size too.
    this.#samplesLeft = Math.max(1, share);
    this.#budget = budget && new BudgetModel(budget);
  }

  matches(tenantId: string | undefined): boolean {
    return this.#selection.takesCall(tenantId);
  }

  missed(tenantId: string | undefined): void {
    this.#counter.missed(tenantId);
  }

  admits(): boolean {
    this.#counter.called();
    this.#recent += 1;
    this.#untilNext -= 1;
    if (this.#untilNext > 0) return false;
    // Random steps: calls often alternate, and a fixed one would always meet the same.
    this.#untilNext = 1 + Math.floor(this.#options.random() * (2 * this.#every - 1));
    if (this.#samplesLeft < 1 || !this.#selection.hasTime) return false;
    this.#samplesLeft -= 1;
    return true;
  }

  take(_category: unknown, call: Call): void {
    const record = recordOf(call, this.#options.now());
    this.#built += this.#every;
    if (!this.#counter.takesLine(record, this.#every)) return;
    const line = textLine(record);
    this.#weight += this.#every;
    this.#bytes += this.#every * (Buffer.byteLength(line) + 1);
  }

  tick(seconds: number): void {
    this.#counter.tick();
    this.#calls += this.#recent;
    this.#budget?.pass(seconds, this.#recent * this.#passing, this.#bytesPerCall);
    this.#every = Math.max(1, Math.ceil(this.#recent / Math.max(1, this.#share)));
    this.#recent = 0;
    this.#samplesLeft = Math.min(Math.max(1, this.#share), this.#samplesLeft + this.#share);
  }

  get result(): Measured {
    const calls = Math.round(this.#calls * this.#passing);
    return {
      calls,
      bytes: Math.round(calls * this.#bytesPerCall),
      dropped: this.#budget?.dropped ?? 0,
      counts: this.#counts,
    };
  }

  /** Extrapolated from the calls that were built. */
  get #counts(): CallCounts {
    const { counts } = this.#counter;
    const each = this.#built === 0 ? 0 : this.#calls / this.#built;
    const [filtered, unevaluated] = [Math.round(counts.filtered * each), Math.round(counts.unevaluated * each)];
    return { ...counts, filtered, unevaluated };
  }

  /** The share of calls that the filter passes. */
  get #passing(): number {
    if (!this.#selection.filtersLines) return 1;
    return this.#built === 0 ? 0 : this.#weight / this.#built;
  }

  get #bytesPerCall(): number {
    return this.#weight === 0 ? 0 : this.#bytes / this.#weight;
  }
}

/** Counts the calls of one category whose work ends as asked for. They are recorded, as while the category is on for such work. */
class RecordedMeter implements Meter {
  readonly #options: CallMetersOptions;
  readonly #selection: Selection;
  readonly #counter: CallCounter;
  readonly #budget = new BudgetModel(RECORDED_RATE);
  readonly #stop: () => void;
  #calls = 0;
  #bytes = 0;
  /** Calls in the current interval. */
  #recent = 0;

  constructor(
    options: CallMetersOptions,
    selection: Selection,
    { category, when }: { readonly category: CategoryDescriptor; readonly when: When },
  ) {
    this.#options = options;
    this.#selection = selection;
    this.#counter = new CallCounter(selection, () => options.work.attributeNames());
    const counter = this.#counter;
    const output: HeldOutput = { when, write: (_category, call) => this.#write(call) };
    this.#stop = options.recorder.record(category, {
      isWhole: false,
      level: ANY_LEVEL,
      isOfTenant: (tenant) => selection.isOfTenant(tenant),
      isOfWork: (surroundings) => selection.matches(surroundings),
      takesLine: (line) => selection.hasTime && counter.takesLine(line),
      output,
    });
  }

  matches(tenantId: string | undefined): boolean {
    return this.#options.work.outcomes.current() !== undefined && this.#selection.takesCall(tenantId);
  }

  missed(tenantId: string | undefined): void {
    this.#counter.missed(tenantId);
  }

  admits(): boolean {
    this.#counter.called();
    return false;
  }

  take(): void {}

  #write(call: Call): undefined {
    this.#recent += 1;
    this.#bytes += Buffer.byteLength(textLine(recordOf(call, this.#options.now()))) + 1;
  }

  tick(seconds: number): void {
    this.#counter.tick();
    this.#calls += this.#recent;
    this.#budget.pass(seconds, this.#recent, this.#calls === 0 ? 0 : this.#bytes / this.#calls);
    this.#recent = 0;
  }

  get result(): Measured {
    const { counts } = this.#counter;
    return { calls: this.#calls, bytes: this.#bytes, dropped: this.#budget.dropped, counts };
  }

  end(): void {
    this.#stop();
  }
}

/**
 * Computes the calls that a budget would drop of a load that goes on as it is: those over its rate on average, and at
 * least those that find its buckets empty. A burst that the buckets hold drops nothing.
 */
class BudgetModel {
  readonly #rate: Rate;
  readonly #bytesPerSecond: number;
  #callsLeft: number;
  #bytesLeft: number;
  #overBuckets = 0;
  #overRate = 0;

  constructor(rate: Rate) {
    this.#rate = rate;
    this.#bytesPerSecond = rate.bytesPerSecond ?? Number.POSITIVE_INFINITY;
    this.#callsLeft = rate.burst;
    this.#bytesLeft = this.#bytesPerSecond;
  }

  /** Adds the load of a time. */
  pass(seconds: number, calls: number, bytesPerCall: number): void {
    const { callsPerSecond, burst } = this.#rate;
    const bytes = Math.max(1, bytesPerCall);
    this.#overRate += calls - Math.min(callsPerSecond, this.#bytesPerSecond / bytes) * seconds;
    this.#callsLeft += callsPerSecond * seconds;
    this.#bytesLeft += this.#bytesPerSecond * seconds;
    const passed = Math.min(calls, this.#callsLeft, this.#bytesLeft / bytes);
    this.#callsLeft = Math.min(burst, this.#callsLeft - passed);
    this.#bytesLeft = Math.min(this.#bytesPerSecond, this.#bytesLeft - passed * bytes);
    this.#overBuckets += calls - passed;
  }

  get dropped(): number {
    return Math.max(0, this.#overRate, this.#overBuckets);
  }
}
