import { createBits, hasBit, writeBit } from './bits.ts';

type Listener = (wanted: boolean) => void;

/** Reports changes of interest bits, so that code outside the gate can follow a category without asking on each call. */
export class InterestWatchers {
  readonly #interest: Uint32Array;
  readonly #failed: (index: number, error: unknown) => void;
  readonly #watched = createBits();
  /** The bits as last reported. */
  readonly #reported = createBits();
  readonly #listeners = new Map<number, Set<Listener>>();

  constructor(interest: Uint32Array, failed: (index: number, error: unknown) => void) {
    this.#interest = interest;
    this.#failed = failed;
  }

  /** Calls back when the bit changes, and at once if it is set. Returns a function that unsubscribes. */
  watch(index: number, listener: Listener): () => void {
    const listeners = this.#listeners.get(index) ?? new Set();
    const own: Listener = (wanted) => listener(wanted);
    this.#listeners.set(index, listeners.add(own));
    const wanted = hasBit(this.#interest, index);
    if (listeners.size === 1) {
      writeBit(this.#watched, index, true);
      writeBit(this.#reported, index, wanted);
    }
    if (wanted) this.#call(own, index, true);
    return () => {
      listeners.delete(own);
      if (listeners.size > 0 || this.#listeners.get(index) !== listeners) return;
      this.#listeners.delete(index);
      writeBit(this.#watched, index, false);
    };
  }

  /** Reports the changed bits of one word. */
  check(word: number): void {
    const changed = (this.#interest[word]! ^ this.#reported[word]!) & this.#watched[word]!;
    if (changed === 0) return;
    for (let index = word << 5; index < (word + 1) << 5; index++) {
      if ((changed & (1 << (index & 31))) === 0) continue;
      const wanted = hasBit(this.#interest, index);
      writeBit(this.#reported, index, wanted);
      for (const listener of this.#listeners.get(index) ?? []) this.#call(listener, index, wanted);
    }
  }

  /** Reports every changed bit. */
  checkAll(): void {
    for (let word = 0; word < this.#interest.length; word++) this.check(word);
  }

  #call(listener: Listener, index: number, wanted: boolean): void {
    try {
      listener(wanted);
    } catch (error) {
      this.#failed(index, error);
    }
  }
}
