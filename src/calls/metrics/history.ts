import type { Clock } from '../../wire/time/clock.ts';

/** How long a step is, in milliseconds. */
export const HISTORY_STEP_MS = 15_000;
/** Steps that are kept: 15 minutes. With 4,096 categories, all of them called, they take 1 MB. */
const STEPS = 60;

/** The calls of the last 15 minutes, in steps. */
export interface RecentCalls {
  /** When each step began, in seconds before now, the oldest first. The last one still runs. */
  readonly secondsAgo: readonly number[];
  /** Calls a second in each step, of the categories that were called. */
  readonly categories: ReadonlyMap<string, readonly number[]>;
}

export interface CallHistoryOptions {
  /** Counts the calls of each category so far, by its name. */
  readonly counted: () => Iterable<readonly [category: string, calls: number]>;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** Calls a second of each category in steps. A category that was not called in any takes no room. */
export class CallHistory {
  readonly #options: CallHistoryOptions;
  /** When the kept steps and the running one began. */
  readonly #begins: number[];
  /** The oldest step first. */
  readonly #rates = new Map<string, Float32Array>();
  /** Calls before the running step. */
  #before: ReadonlyMap<string, number>;

  constructor(options: CallHistoryOptions) {
    this.#options = options;
    this.#begins = [options.clock.monotonic()];
    this.#before = new Map(options.counted());
  }

  /** Ends the running step, and begins the next. */
  sample(): void {
    const { now, counted, rateOf } = this.#running();
    for (const name of new Set([...counted.keys(), ...this.#rates.keys()])) {
      const rate = rateOf(name);
      const rates = this.#rates.get(name) ?? (rate > 0 ? new Float32Array(STEPS) : undefined);
      if (rates === undefined) continue;
      rates.copyWithin(0, 1);
      rates[STEPS - 1] = rate;
      if (rates.some((each) => each > 0)) this.#rates.set(name, rates);
      else this.#rates.delete(name);
    }
    this.#before = counted;
    if (this.#begins.push(now) > STEPS + 1) this.#begins.shift();
  }

  read(): RecentCalls {
    const { now, counted, rateOf } = this.#running();
    const kept = this.#begins.length - 1;
    const called = [...counted.keys()].filter((name) => this.#rates.has(name) || rateOf(name) > 0);
    return {
      secondsAgo: this.#begins.map((begin) => (now - begin) / 1000),
      categories: new Map(
        called.map((name) => {
          const rates = this.#rates.get(name) ?? new Float32Array(STEPS);
          return [name, [...rates.subarray(STEPS - kept), rateOf(name)]];
        }),
      ),
    };
  }

  #running() {
    const now = this.#options.clock.monotonic();
    const counted = new Map(this.#options.counted());
    const seconds = (now - (this.#begins.at(-1) ?? now)) / 1000;
    const rateOf = (name: string) => {
      const calls = (counted.get(name) ?? 0) - (this.#before.get(name) ?? 0);
      // Fewer than before: a process of the fleet has gone.
      return seconds > 0 ? Math.max(0, calls / seconds) : 0;
    };
    return { now, counted, rateOf };
  }
}
