/**
 * The rule of fairness: the last part of what categories share, the reserve, is for those that took less than is left.
 * It holds for the budget of the process, the room in front of stderr, and the room in a debug lane.
 * @param left the reserve included
 */
export function mayTake(taken: number, left: number, reserve: number): boolean {
  return left > reserve || taken < left;
}

/** How much of a room each source takes up. */
export class Shares {
  readonly #reserve: number;
  readonly #bySource = new Map<string, number>();

  constructor(reserve: number) {
    this.#reserve = reserve;
  }

  /** @param left room that is left, the reserve included */
  admits(source: string, left: number): boolean {
    return mayTake(this.#bySource.get(source) ?? 0, left, this.#reserve);
  }

  take(source: string, amount: number): void {
    this.#bySource.set(source, (this.#bySource.get(source) ?? 0) + amount);
  }

  giveBack(source: string, amount: number): void {
    const left = (this.#bySource.get(source) ?? 0) - amount;
    if (left > 0) this.#bySource.set(source, left);
    else this.#bySource.delete(source);
  }
}
