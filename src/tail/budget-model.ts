import type { Rate } from '../emit/budget.ts';

/** Token buckets for calls and bytes, in seconds of load instead of single calls. */
class Buckets {
  readonly #rate: Rate;
  #calls: number;
  #bytes: number;
  dropped = 0;

  constructor(rate: Rate, full: boolean) {
    this.#rate = rate;
    this.#calls = full ? rate.burst : 0;
    this.#bytes = full ? (rate.bytesPerSecond ?? 0) : 0;
  }

  pass(seconds: number, calls: number, bytesPerCall: number): void {
    const { callsPerSecond, burst, bytesPerSecond } = this.#rate;
    this.#calls += callsPerSecond * seconds;
    let passed = Math.min(calls, this.#calls);
    if (bytesPerSecond !== undefined && bytesPerCall > 0) {
      this.#bytes += bytesPerSecond * seconds;
      passed = Math.min(passed, this.#bytes / bytesPerCall);
      this.#bytes = Math.min(bytesPerSecond, this.#bytes - passed * bytesPerCall);
    }
    this.#calls = Math.min(burst, this.#calls - passed);
    this.dropped += calls - passed;
  }
}

/**
 * Computes what a budget would drop of a load that goes on as it is. A budget that lasts for the measured time, with the
 * burst that it starts with, and on average, drops nothing; otherwise the burst, which comes only once, is left out.
 */
export class BudgetModel {
  readonly #rate: Rate;
  readonly #first: Buckets;
  readonly #lasting: Buckets;
  #seconds = 0;
  #calls = 0;
  #bytes = 0;

  constructor(rate: Rate) {
    this.#rate = rate;
    this.#first = new Buckets(rate, true);
    this.#lasting = new Buckets(rate, false);
  }

  /** Adds the load of a time. */
  pass(seconds: number, calls: number, bytesPerCall: number): void {
    this.#seconds += seconds;
    this.#calls += calls;
    this.#bytes += calls * bytesPerCall;
    this.#first.pass(seconds, calls, bytesPerCall);
    this.#lasting.pass(seconds, calls, bytesPerCall);
  }

  /** Calls that the budget would have dropped. */
  get dropped(): number {
    const { callsPerSecond, bytesPerSecond = Number.POSITIVE_INFINITY } = this.#rate;
    const over = this.#calls > callsPerSecond * this.#seconds || this.#bytes > bytesPerSecond * this.#seconds;
    return over || this.#first.dropped > 0 ? this.#lasting.dropped : 0;
  }
}
