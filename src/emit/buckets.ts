/** How often tokens come back, in milliseconds. */
export const TICK_MS = 100;
export const TICKS_PER_SECOND = 1000 / TICK_MS;

/** Marks what has no bucket. */
export const NO_BUCKET = -1;

/**
 * Token buckets in typed arrays. A token is ten units, so that every rate is whole units a tick. No clock is read: an event
 * loop that was blocked for a minute gets the tokens of one tick.
 */
export class TokenBuckets {
  /** Units, by bucket. Below zero where somebody took in advance. */
  units = new Float64Array(16);
  #perTick = new Float64Array(16);
  #capacity = new Float64Array(16);
  #length = 0;
  readonly #closed: number[] = [];

  /** A full bucket, which holds a tick's tokens at least: a smaller one would cap the rate. @returns its position, until it is closed */
  open(perSecond: number, burst: number): number {
    const at = this.#closed.pop() ?? this.#length++;
    if (at === this.units.length) this.#grow();
    this.#perTick[at] = perSecond;
    this.#capacity[at] = Math.max(burst * TICKS_PER_SECOND, perSecond);
    this.units[at] = this.#capacity[at]!;
    return at;
  }

  close(at: number): void {
    if (at === NO_BUCKET) return;
    this.units[at] = 0;
    this.#capacity[at] = 0;
    this.#closed.push(at);
  }

  /** Puts the tokens of one tick into every bucket. @returns whether all are full */
  refill(): boolean {
    let full = true;
    for (let at = 0; at < this.#length; at++) {
      const capacity = this.#capacity[at]!;
      const units = this.units[at]! + this.#perTick[at]!;
      this.units[at] = Math.min(units, capacity);
      if (units < capacity) full = false;
    }
    return full;
  }

  #grow(): void {
    const doubled = (array: Float64Array) => {
      const larger = new Float64Array(array.length * 2);
      larger.set(array);
      return larger;
    };
    this.units = doubled(this.units);
    this.#perTick = doubled(this.#perTick);
    this.#capacity = doubled(this.#capacity);
  }
}
