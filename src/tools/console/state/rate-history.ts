import { isCounted } from '../../../wire/counted-calls.ts';
import type { DiscoveredCategory } from '../../../wire/messages.ts';
import type { EventsRates, EventsSnapshot } from '../../../wire/streams.ts';
import { spansOf } from './spans.ts';

/** Seconds that are remembered. */
export const HISTORY_SECONDS = 900;
/** Seconds that the first figures of a server are about. */
const MEASURED_SECONDS = 60;

/** Calls of a category in each of the last seconds, the oldest first; `NaN` where they were not seen. */
interface Series {
  readonly rates: Float32Array;
  /** Calls whose line was not written. */
  readonly drops: Float32Array;
  /** The same since the start. */
  dropped: number;
}

/** Calls a second of each category in the last minutes. Seconds that were not seen are gaps (`NaN`). */
export class RateHistory {
  readonly #categories = new Map<string, Series>();
  /** A category without calls: zero in each second that was seen. */
  readonly #silent = seriesOf(new Float32Array(HISTORY_SECONDS).fill(Number.NaN));
  /** The newest second, since the epoch. */
  #newest: number | undefined;
  #hasRates = false;

  /** The newest time that is known of, in milliseconds since the epoch. */
  get newest(): number | undefined {
    return this.#newest && this.#newest * 1000;
  }

  /** The means of the last minute, which a server knows before the page sees a call. */
  begin({ timestamp, categories }: Pick<EventsSnapshot, 'timestamp' | 'categories'>): void {
    if (!this.#advance(timestamp)) return;
    for (const category of categories) {
      if (isCounted(category) && isOldEnough(category, Date.parse(timestamp))) {
        const { rates } = this.#seriesOf(category.name);
        const { callsPerSecond } = category.metrics;
        for (let at = HISTORY_SECONDS - MEASURED_SECONDS; at < HISTORY_SECONDS; at += 1) {
          if (Number.isNaN(rates[at])) rates[at] = callsPerSecond;
        }
      }
    }
  }

  add({ timestamp, categories, budgets = {} }: EventsRates): void {
    for (const name of [...Object.keys(categories), ...Object.keys(budgets)]) this.#seriesOf(name);
    const passed = this.#advance(timestamp);
    if (passed === undefined) return;
    // A second that two roundings left out is no gap.
    const seconds = passed === 2 ? 2 : 1;
    this.#silent.rates.fill(0, HISTORY_SECONDS - seconds);
    for (const [name, series] of this.#categories) {
      series.rates.fill(categories[name] ?? 0, HISTORY_SECONDS - seconds);
      const dropped = budgets[name]?.dropped ?? series.dropped;
      // What was dropped before the page was open, was not dropped now.
      series.drops[HISTORY_SECONDS - 1] = this.#hasRates ? Math.max(0, dropped - series.dropped) : 0;
      series.dropped = dropped;
    }
    this.#hasRates = true;
  }

  /** Oldest first; empty before the first event. */
  of(category: string, seconds = HISTORY_SECONDS): Float32Array {
    return this.#ofSilent(category).rates.subarray(this.#newest === undefined ? HISTORY_SECONDS : -seconds);
  }

  /** Calls whose line was not written, in the same seconds. */
  droppedOf(category: string): Float32Array {
    return this.#ofSilent(category).drops;
  }

  clear(): void {
    this.#categories.clear();
    this.#silent.rates.fill(Number.NaN);
    this.#newest = undefined;
    this.#hasRates = false;
  }

  #ofSilent(category: string): Series {
    return this.#categories.get(category) ?? this.#silent;
  }

  #seriesOf(name: string): Series {
    const known = this.#categories.get(name) ?? seriesOf(this.#silent.rates.slice());
    this.#categories.set(name, known);
    return known;
  }

  /** Makes room for the seconds that have passed. @returns how many; `undefined` where there is none */
  #advance(timestamp: string): number | undefined {
    const second = Math.round(Date.parse(timestamp) / 1000);
    if (!Number.isFinite(second)) return undefined;
    const passed = this.#newest === undefined ? HISTORY_SECONDS : second - this.#newest;
    if (passed <= 0) {
      // The server's clock went back, or two events fell into one second.
      if (passed > -HISTORY_SECONDS / 10) return undefined;
      this.clear();
      return this.#advance(timestamp);
    }
    this.#newest = second;
    const shift = Math.min(passed, HISTORY_SECONDS);
    for (const { rates, drops } of [this.#silent, ...this.#categories.values()]) {
      rates.copyWithin(0, shift).fill(Number.NaN, HISTORY_SECONDS - shift);
      drops.copyWithin(0, shift).fill(0, HISTORY_SECONDS - shift);
    }
    return passed;
  }
}

function seriesOf(rates: Float32Array): Series {
  return { rates, drops: new Float32Array(HISTORY_SECONDS), dropped: 0 };
}

/** Whether a mean of the last minute is of no time when the category was off. */
function isOldEnough(category: DiscoveredCategory, now: number): boolean {
  return spansOf(category).every(({ from }) => now - from >= MEASURED_SECONDS * 1000);
}
