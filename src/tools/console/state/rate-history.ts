import { isCounted } from '../../../wire/counted-calls.ts';
import type { EventsRates, EventsSnapshot } from '../../../wire/streams.ts';
import { spansOf } from './spans.ts';

/** Seconds that are remembered. */
export const HISTORY_SECONDS = 900;
/** Seconds that the first figures of a server are about. */
const MEASURED_SECONDS = 60;

type Second = Pick<EventsRates, 'categories' | 'budgets'>;

/** Calls a second of each category in the last minutes. Seconds that were not seen are gaps (`NaN`). */
export class RateHistory {
  /** By the second since the epoch, the oldest first. */
  readonly #seconds = new Map<number, Second>();
  #newest: number | undefined;

  /** The newest time that is known of, in milliseconds since the epoch. */
  get newest(): number | undefined {
    return this.#newest && this.#newest * 1000;
  }

  /** Begins with the means of the last minute, which a server knows before the page sees a call. */
  begin({ timestamp, categories: all }: Pick<EventsSnapshot, 'timestamp' | 'categories'>): void {
    const now = Date.parse(timestamp);
    const means = all.map((category) => {
      // A mean is of no time when the category was off.
      const isMean = spansOf(category).every(({ from }) => now - from >= MEASURED_SECONDS * 1000);
      return [category.name, isCounted(category) && isMean ? category.metrics.callsPerSecond : Number.NaN];
    });
    const categories = Object.fromEntries(means);
    for (let ago = MEASURED_SECONDS - 1; ago >= 0; ago -= 1) this.#put(now - ago * 1000, { categories });
  }

  add({ timestamp, categories, budgets = {} }: EventsRates): void {
    this.#put(Date.parse(timestamp), { categories, budgets });
  }

  /** Oldest first; empty before the first event. */
  of(category: string, seconds = HISTORY_SECONDS): Float32Array {
    const rates = this.#each(seconds, (second) => second?.categories[category] ?? (second ? 0 : Number.NaN));
    // A second that two roundings left out is no gap.
    return rates.map((rate, at) =>
      Number.isNaN(rate) && !Number.isNaN(rates[at - 1]) ? (rates[at + 1] ?? rate) : rate,
    );
  }

  /** Calls whose line was not written, in the same seconds. */
  droppedOf(category: string): Float32Array {
    let before: number | undefined;
    return this.#each(HISTORY_SECONDS, (second) => {
      if (second?.budgets === undefined) return 0;
      const dropped = second.budgets[category]?.dropped ?? before ?? 0;
      // What was dropped before the page was open was not dropped now.
      const fresh = Math.max(0, dropped - (before ?? dropped));
      before = dropped;
      return fresh;
    });
  }

  clear(): void {
    this.#seconds.clear();
    this.#newest = undefined;
  }

  #each(seconds: number, amountOf: (second: Second | undefined) => number): Float32Array {
    const newest = this.#newest;
    if (newest === undefined) return new Float32Array(0);
    return Float32Array.from({ length: seconds }, (_, at) => amountOf(this.#seconds.get(newest - seconds + 1 + at)));
  }

  #put(at: number, rates: Second): void {
    const second = Math.round(at / 1000);
    if (!Number.isFinite(second) || this.#seconds.has(second)) return;
    // The server's clock was set back.
    if (this.#newest !== undefined && second < this.#newest - HISTORY_SECONDS / 10) this.clear();
    this.#seconds.set(second, rates);
    this.#newest = Math.max(this.#newest ?? second, second);
    for (const oldest of this.#seconds.keys()) {
      if (oldest > this.#newest - HISTORY_SECONDS) break;
      this.#seconds.delete(oldest);
    }
  }
}
