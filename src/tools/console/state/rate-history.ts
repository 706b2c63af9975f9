import type { EventsRates } from '../../../wire/streams.ts';

/** Seconds that are remembered. */
export const HISTORY_SECONDS = 180;

/** Calls a second of each category in the last minutes. Seconds that were not seen are gaps (`NaN`). */
export class RateHistory {
  readonly #categories = new Map<string, Float32Array>();
  /** A category without calls: zero in each second that was seen. */
  readonly #silent = new Float32Array(HISTORY_SECONDS).fill(Number.NaN);
  /** The newest second, since the epoch. */
  #newest: number | undefined;

  add({ timestamp, categories }: EventsRates): void {
    const second = Math.round(Date.parse(timestamp) / 1000);
    if (!Number.isFinite(second)) return;
    const passed = this.#newest === undefined ? HISTORY_SECONDS : second - this.#newest;
    if (passed <= 0) {
      // The server's clock went back, or two events fell into one second.
      if (passed > -HISTORY_SECONDS / 10) return;
      this.clear();
    }
    for (const name of Object.keys(categories)) {
      if (!this.#categories.has(name)) this.#categories.set(name, this.#silent.slice());
    }
    this.#newest = second;
    // A second that two roundings left out is no gap.
    const bridge = passed === 2;
    advance(this.#silent, passed, 0, bridge);
    for (const [name, rates] of this.#categories) advance(rates, passed, categories[name] ?? 0, bridge);
  }

  /** Oldest first; empty before the first event. */
  of(category: string): Float32Array {
    if (this.#newest === undefined) return new Float32Array(0);
    return this.#categories.get(category) ?? this.#silent;
  }

  clear(): void {
    this.#categories.clear();
    this.#silent.fill(Number.NaN);
    this.#newest = undefined;
  }
}

function advance(rates: Float32Array, passed: number, rate: number, bridge: boolean): void {
  const shift = Math.min(passed, rates.length);
  rates.copyWithin(0, shift);
  rates.fill(bridge ? rate : Number.NaN, rates.length - shift);
  rates[rates.length - 1] = rate;
}
