/** Refill interval in milliseconds. */
export const TICK_MS = 100;
export const TICKS_PER_SECOND = 1000 / TICK_MS;

/** Marks the absence of a bucket. */
export const NO_BUCKET = -1;

/**
 * Token buckets in typed arrays. A token is ten units, so that every rate is a whole number of units per tick. Reads no
 * clock: after the event loop was blocked for a minute, one tick's tokens are added.
 */
export class TokenBuckets {
  /** Units by bucket. Negative when tokens were taken in advance. */
  units = new Float64Array(16);
  #perTick = new Float64Array(16);
  #capacity = new Float64Array(16);
  #length = 0;
  readonly #closed: number[] = [];

  /**
   * Opens a full bucket. It holds at least one tick's tokens: a smaller one would cap the rate. @returns its index,
   * until it is closed
   */
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

  /** Adds one tick's tokens to every bucket. @returns whether all are full */
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
