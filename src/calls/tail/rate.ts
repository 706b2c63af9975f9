import { mayTake } from '../emit/fairness.ts';

/** Part of the lines of a second that is kept for categories that took few of them lately. */
const RESERVE = 1 / 5;

/**
 * Limits lines per second. What silent categories do not use is everybody's, but for the reserve, which is for those that took
 * less than is left. Refilled by a timer, so that a debug call reads no clock. Holds the lines of one second.
 */
export class LineRate {
  readonly #perSecond: number;
  readonly #reserve: number;
  /** Lines that each category took in about the last second. */
  readonly #taken = new Map<string, number>();
  #left: number;

  constructor(perSecond: number, categories: readonly string[]) {
    this.#perSecond = perSecond;
    this.#reserve = categories.length === 1 ? 0 : perSecond * RESERVE;
    this.#left = perSecond;
  }

  /** Takes one line; returns whether there was room. */
  take(category: string): boolean {
    const taken = this.#taken.get(category) ?? 0;
    // Refills in fractions may add up to a little less than one line.
    if (this.#left < 1 - 1e-9 || !mayTake(taken, this.#left, this.#reserve)) return false;
    this.#taken.set(category, taken + 1);
    this.#left = Math.max(0, this.#left - 1);
    return true;
  }

  refill(milliseconds: number): void {
    const seconds = milliseconds / 1000;
    this.#left = Math.min(this.#perSecond, this.#left + this.#perSecond * seconds);
    if (this.#left === this.#perSecond) this.#taken.clear();
    for (const [name, taken] of this.#taken) this.#taken.set(name, taken * Math.max(0, 1 - seconds));
  }
}
