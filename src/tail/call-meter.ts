import type { Rate } from '../emit/budget.ts';
import { textLine } from '../emit/line.ts';
import { type Call, recordOf } from '../emit/record.ts';
import type { Tap } from '../emit/taps.ts';
import { BudgetModel } from './budget-model.ts';
import type { Measured } from './types.ts';

/** Most calls of a category that are built in one interval of the timer, and most of all categories of a forecast. */
const MAX_SAMPLES = { each: 10, all: 100 };

export interface CallMeterOptions {
  readonly tenantId: string | undefined;
  /** Categories that are measured together. */
  readonly categories: number;
  /** The category's configured budget. */
  readonly budget: Rate | undefined;
  readonly now: () => number;
  /** Returns a number from 0 to 1. */
  readonly random: () => number;
}

/** Counts the calls of one category, and builds one in so many to measure its size. */
export class CallMeter implements Tap {
  readonly #options: CallMeterOptions;
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
  #weight = 0;
  #bytes = 0;

  constructor(options: CallMeterOptions) {
    this.#options = options;
    this.#share = Math.min(MAX_SAMPLES.each, MAX_SAMPLES.all / options.categories);
    // A category with a single call has a size too.
    this.#samplesLeft = Math.max(1, this.#share);
    this.#budget = options.budget && new BudgetModel(options.budget);
  }

  matches(tenantId: string | undefined): boolean {
    const own = this.#options.tenantId;
    return own === undefined || own === tenantId;
  }

  admits(): boolean {
    this.#recent += 1;
    this.#untilNext -= 1;
    if (this.#untilNext > 0) return false;
    // Random steps: calls often alternate, and a fixed one would always meet the same.
    this.#untilNext = 1 + Math.floor(this.#options.random() * (2 * this.#every - 1));
    if (this.#samplesLeft < 1) return false;
    this.#samplesLeft -= 1;
    return true;
  }

  take(_category: unknown, call: Call): void {
    const line = textLine(recordOf(call, this.#options.now()));
    this.#weight += this.#every;
    this.#bytes += this.#every * (Buffer.byteLength(line) + 1);
  }

  /** Called at intervals. */
  tick(milliseconds: number): void {
    this.#calls += this.#recent;
    this.#budget?.pass(milliseconds / 1000, this.#recent, this.#bytesPerCall);
    this.#every = Math.max(1, Math.ceil(this.#recent / Math.max(1, this.#share)));
    this.#recent = 0;
    this.#samplesLeft = Math.min(Math.max(1, this.#share), this.#samplesLeft + this.#share);
  }

  get result(): Measured {
    return {
      calls: this.#calls,
      bytes: Math.round(this.#calls * this.#bytesPerCall),
      dropped: this.#budget?.dropped ?? 0,
    };
  }

  get #bytesPerCall(): number {
    return this.#weight === 0 ? 0 : this.#bytes / this.#weight;
  }
}
