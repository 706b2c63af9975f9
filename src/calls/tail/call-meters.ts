import type { CallCounts } from '../../wire/call-counts.ts';
import type { Rate } from '../emit/budget.ts';
import { type Call, recordOf, textLine } from '../emit/record.ts';
import type { Selection } from '../emit/selection.ts';
import { RECORDED_RATE } from '../recorder/recorder.ts';
import type { CallCounter } from './call-counter.ts';
import type { Answer } from './fleet-messages.ts';
import { type Taker, Tapping, type TappingOptions } from './tapping.ts';
import type { TapFilter } from './types.ts';

/** Most calls of a category that are built in one interval of the timer, and most of all categories of a forecast. */
const MAX_SAMPLES = { each: 10, all: 100 };

export interface CallMetersOptions extends TappingOptions {
  /** The configured budget of a category; `undefined` when unlimited. */
  readonly budgetOf: (name: string) => Rate | undefined;
}

type Measurement = Pick<Answer<'measured'>, 'seconds' | 'categories'>;

/** Measures the calls of some categories in this process. */
export class CallMeters {
  readonly #meters = new Map<string, CallMeter>();
  readonly #tapping: Tapping;
  #milliseconds = 0;

  constructor(options: CallMetersOptions, filter: TapFilter) {
    const { categories, when } = filter;
    const share = Math.min(MAX_SAMPLES.each, MAX_SAMPLES.all / categories.length);
    this.#tapping = new Tapping(options, filter, (name, counter, selection) => {
      const isSampled = when === undefined;
      const budget = isSampled ? options.budgetOf(name) : RECORDED_RATE;
      const { random, now } = options;
      const meter = new CallMeter({ selection, counter, isSampled, share, budget, random, now });
      this.#meters.set(name, meter);
      return meter;
    });
  }

  /** Called at intervals. */
  tick(milliseconds: number): void {
    this.#milliseconds += milliseconds;
    this.#tapping.tick();
    for (const meter of this.#meters.values()) meter.tick(milliseconds / 1000);
  }

  /** Taps categories that were registered since. */
  look(): void {
    this.#tapping.look();
  }

  /** The measurement up to the last tick. */
  get result(): Measurement {
    return {
      seconds: Math.max(1, this.#milliseconds) / 1000,
      categories: Object.fromEntries([...this.#meters].map(([name, { result }]) => [name, result])),
    };
  }

  end(): void {
    this.#tapping.end();
  }
}

interface CallMeterOptions extends Pick<CallMetersOptions, 'random' | 'now'> {
  readonly selection: Selection;
  readonly counter: CallCounter;
  /** Whether one call in so many is built. Otherwise calls are recorded, as while the category is on for work that ends so. */
  readonly isSampled: boolean;
  /** Calls that may be built in an interval. Below one, what is saved over several intervals is one. */
  readonly share: number;
  readonly budget: Rate | undefined;
}

/** Counts the calls of one category, and measures the size of some, or of those whose work ends as asked for. */
class CallMeter implements Taker {
  readonly #options: CallMeterOptions;
  readonly #budget: BudgetModel | undefined;
  #calls = 0;
  /** Calls in the current interval. */
  #recent = 0;
  #samplesLeft: number;
  /** One call in so many is built. */
  #every = 1;
  #untilNext = 1;
  /** Sums over the built calls, each of which stands for {@link CallMeter.#every} calls. */
  #built = 0;
  /** The same for those of them that the filter passes. */
  #weight = 0;
  #bytes = 0;

  constructor(options: CallMeterOptions) {
    this.#options = options;
    // A category with a single call has a size too.
    this.#samplesLeft = Math.max(1, options.share);
    this.#budget = options.budget && new BudgetModel(options.budget);
  }

  admits(): boolean {
    this.#recent += 1;
    this.#untilNext -= 1;
    if (this.#untilNext > 0) return false;
    // Random steps: calls often alternate, and a fixed one would always meet the same.
    const { random, selection } = this.#options;
    this.#untilNext = 1 + Math.floor(random() * (2 * this.#every - 1));
    if (this.#samplesLeft < 1 || !selection.hasTime) return false;
    this.#samplesLeft -= 1;
    return true;
  }

  take(call: Call): void {
    const { now, counter } = this.#options;
    const record = recordOf(call, now());
    this.#built += this.#every;
    if (counter.takesLine(record, this.#every)) this.#measure(textLine(record), this.#every);
  }

  write(call: Call): undefined {
    this.#recent += 1;
    this.#built += 1;
    this.#measure(textLine(recordOf(call, this.#options.now())), 1);
  }

  #measure(line: string, calls: number): void {
    this.#weight += calls;
    this.#bytes += calls * (Buffer.byteLength(line) + 1);
  }

  tick(seconds: number): void {
    const { share } = this.#options;
    this.#calls += this.#recent;
    this.#budget?.pass(seconds, this.#recent * this.#passing, this.#bytesPerCall);
    this.#every = Math.max(1, Math.ceil(this.#recent / Math.max(1, share)));
    this.#recent = 0;
    this.#samplesLeft = Math.min(Math.max(1, share), this.#samplesLeft + share);
  }

  get result(): Measurement['categories'][string] {
    const { counter, isSampled } = this.#options;
    const calls = Math.round(this.#calls * this.#passing);
    return {
      calls,
      bytes: Math.round(calls * this.#bytesPerCall),
      dropped: this.#budget?.dropped ?? 0,
      counts: isSampled ? this.#extrapolated(counter.counts) : counter.counts,
    };
  }

  /** What was counted of the calls that were built, for all calls. */
  #extrapolated(counts: CallCounts): CallCounts {
    const each = this.#built === 0 ? 0 : this.#calls / this.#built;
    const [filtered, unevaluated] = [Math.round(counts.filtered * each), Math.round(counts.unevaluated * each)];
    return { ...counts, filtered, unevaluated };
  }

  /** The share of calls that the filter passes. */
  get #passing(): number {
    if (!this.#options.selection.filtersLines) return 1;
    return this.#built === 0 ? 0 : this.#weight / this.#built;
  }

  get #bytesPerCall(): number {
    return this.#weight === 0 ? 0 : this.#bytes / this.#weight;
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
