import { timers } from '../wire/time/timers.ts';

/** References made in one turn of the event loop: V8 keeps what a new one points to until the turn ends. */
const MAX_IN_TURN = 1000;

/**
 * Objects to be found again while they live. Of those that come in one burst only the first are kept, so that a service
 * which makes thousands of loggers in one turn does not hold them all.
 */
export class WeakList<T extends object> {
  #references: WeakRef<T>[] = [];
  #inTurn = 0;
  #sweepAt = 1024;

  add(object: T): void {
    if (this.#inTurn >= MAX_IN_TURN) return;
    if (this.#inTurn === 0) {
      timers
        .setImmediate(() => {
          this.#inTurn = 0;
        })
        .unref();
    }
    this.#inTurn += 1;
    this.#references.push(new WeakRef(object));
    if (this.#references.length < this.#sweepAt) return;
    this.#references = this.#references.filter((reference) => reference.deref() !== undefined);
    this.#sweepAt = Math.max(1024, 2 * this.#references.length);
  }

  *[Symbol.iterator](): Generator<T> {
    for (const reference of this.#references) {
      const object = reference.deref();
      if (object !== undefined) yield object;
    }
  }

  clear(): void {
    this.#references = [];
  }
}
