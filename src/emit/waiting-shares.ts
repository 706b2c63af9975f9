/**
 * How much of what waits each source has, so that a flood of one cannot take all the room: the last part of it, the
 * reserve, is for sources that have less waiting than room is left.
 */
export class WaitingShares {
  readonly #reserve: number;
  readonly #bySource = new Map<string, number>();

  constructor(reserve: number) {
    this.#reserve = reserve;
  }

  /** @param left room that is left, the reserve included */
  admits(source: string, left: number): boolean {
    return left > this.#reserve || (this.#bySource.get(source) ?? 0) < left;
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
