import type { EventsRates } from '../../../wire/streams.ts';

/** Seconds that are remembered. */
export const HISTORY_SECONDS = 900;

/**
 * Calls a second of each category in the last 15 minutes: a number for each second, at the second since the epoch modulo the length.
 * A second without a measurement is a gap (`NaN`).
 */
export class RateHistory {
  /** 0 for a second that was measured. */
  readonly #measured = new Float32Array(HISTORY_SECONDS).fill(Number.NaN);
  readonly #rates = new Map<string, Float32Array>();
  /** Calls whose line was not written. */
  readonly #dropped = new Map<string, Float32Array>();
  /** The same since the start of the service, when it was heard of last. */
  readonly #droppedSoFar = new Map<string, number>();
  #newest: number | undefined;

  /** The newest time that is known of, in milliseconds since the epoch. */
  get newest(): number | undefined {
    return this.#newest && this.#newest * 1000;
  }

  add({ timestamp, categories, budgets = {}, history }: EventsRates): void {
    const second = Math.round(Date.parse(timestamp) / 1000);
    if (!Number.isFinite(second)) return;
    this.#advance(second);
    if (history !== undefined) this.#fill(history);
    this.#put(second, this.#rates, Object.entries(categories));
    for (const [name, { dropped = 0 }] of Object.entries(budgets)) {
      // What was dropped before the page was open was not dropped now.
      const fresh = dropped - (this.#droppedSoFar.get(name) ?? dropped);
      this.#droppedSoFar.set(name, dropped);
      if (fresh > 0) this.#put(second, this.#dropped, [[name, fresh]]);
    }
    this.#measured[second % HISTORY_SECONDS] = 0;
  }

  /**
   * Oldest first; empty before the first event.
   * @param from since when its calls are counted, in milliseconds since the epoch: no call before is no measurement
   */
  of(category: string, { seconds = HISTORY_SECONDS, from = Number.NEGATIVE_INFINITY } = {}): Float32Array {
    const counted = this.#read(this.#rates.get(category), seconds, this.#measured);
    const first = (this.#newest ?? 0) - seconds + 1;
    const rates = counted.map((rate, at) => (rate === 0 && (first + at) * 1000 < from ? Number.NaN : rate));
    // A second that two roundings left out is no gap.
    return rates.map((rate, at) =>
      Number.isNaN(rate) && !Number.isNaN(rates[at - 1]) ? (rates[at + 1] ?? rate) : rate,
    );
  }

  /** Calls whose line was not written, in the same seconds. */
  droppedOf(category: string): Float32Array {
    return this.#read(this.#dropped.get(category), HISTORY_SECONDS);
  }

  clear(): void {
    this.#measured.fill(Number.NaN);
    for (const each of [this.#rates, this.#dropped, this.#droppedSoFar]) each.clear();
    this.#newest = undefined;
  }

  /** @param from where a gap is `NaN`, and 0 otherwise */
  #read(numbers: Float32Array | undefined, seconds: number, from?: Float32Array): Float32Array {
    const newest = this.#newest;
    if (newest === undefined) return new Float32Array(0);
    return Float32Array.from({ length: seconds }, (_, at) => {
      const place = (newest - seconds + 1 + at) % HISTORY_SECONDS;
      return (from?.[place] ?? 0) + (numbers?.[place] ?? 0);
    });
  }

  /** Makes room for the seconds up to a new one. */
  #advance(second: number): void {
    const newest = this.#newest ?? second;
    // The server's clock was set back.
    if (second < newest - HISTORY_SECONDS / 10) this.clear();
    for (let at = Math.max(newest, second - HISTORY_SECONDS) + 1; at <= second; at += 1) {
      this.#measured[at % HISTORY_SECONDS] = Number.NaN;
      for (const numbers of [...this.#rates.values(), ...this.#dropped.values()]) numbers[at % HISTORY_SECONDS] = 0;
    }
    this.#newest = Math.max(this.#newest ?? second, second);
  }

  /** Takes what the service measured before, for the seconds that the page did not see. */
  #fill({ secondsAgo, categories }: NonNullable<EventsRates['history']>): void {
    const newest = this.#newest ?? 0;
    for (const [step, begin] of secondsAgo.entries()) {
      const rates = Object.entries(categories).map(([name, steps]) => [name, steps[step] ?? 0] as const);
      const last = newest - Math.round(secondsAgo[step + 1] ?? 0);
      for (
        let second = Math.max(newest - Math.round(begin), newest - HISTORY_SECONDS) + 1;
        second <= last;
        second += 1
      ) {
        const place = second % HISTORY_SECONDS;
        if (this.#measured[place] === 0) continue;
        this.#put(second, this.#rates, rates);
        this.#measured[place] = 0;
      }
    }
  }

  #put(second: number, into: Map<string, Float32Array>, numbers: Iterable<readonly [name: string, value: number]>) {
    for (const [name, value] of numbers) {
      const known = into.get(name) ?? new Float32Array(HISTORY_SECONDS);
      known[second % HISTORY_SECONDS] = value;
      into.set(name, known);
    }
  }
}
