/** Limits lines per second. Refilled by a timer, so that a debug call reads no clock. Holds the lines of one second. */
export class LineRate {
  readonly #perSecond: number;
  #left: number;

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
    this.#left = perSecond;
  }

  /** Takes one line; returns whether there was room. */
  take(): boolean {
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }

  refill(milliseconds: number): void {
    this.#left = Math.min(this.#perSecond, this.#left + (this.#perSecond * milliseconds) / 1000);
  }
}
