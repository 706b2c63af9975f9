/**
 * Limits lines per second, with a fair share for each category: a loud one gets what the others leave. Refilled by a timer,
 * so that a debug call reads no clock. Holds the lines of one second.
 */
export class LineRate {
  readonly #perSecond: number;
  /** Lines that each category may still write of its own share. */
  readonly #shares: Map<string, number>;
  readonly #share: number;
  /** Unused shares, for any category. */
  #left: number;

  constructor(perSecond: number, categories: readonly string[]) {
    this.#perSecond = perSecond;
    const share = perSecond / categories.length;
    // Less than a line is no share: then the first to write gets it.
    this.#share = share < 1 ? 0 : share;
    this.#shares = new Map(categories.map((name) => [name, this.#share]));
    this.#left = share < 1 ? perSecond : 0;
  }

  /** Takes one line; returns whether there was room. */
  take(category: string): boolean {
    const own = this.#shares.get(category) ?? 0;
    const all = own + this.#left;
    // Rounded shares may add up to a little less than one line.
    if (all < 1 - 1e-9) return false;
    this.#shares.set(category, Math.max(0, own - 1));
    if (own < 1) this.#left = Math.max(0, all - 1);
    return true;
  }

  refill(milliseconds: number): void {
    const refill = (this.#share * milliseconds) / 1000;
    if (this.#share === 0) this.#left += (this.#perSecond * milliseconds) / 1000;
    let held = 0;
    for (const [name, own] of this.#shares) {
      const filled = own + refill;
      this.#left += Math.max(0, filled - this.#share);
      this.#shares.set(name, Math.min(filled, this.#share));
      held += Math.min(filled, this.#share);
    }
    this.#left = Math.min(this.#left, this.#perSecond - held);
  }
}
