import { hasBit } from './bits.ts';
import type { GateMemory } from './memory.ts';

type Listener = (wanted: boolean) => void;

interface Watched {
  readonly listeners: Set<Listener>;
  /** The bits as last reported. */
  wanted: boolean;
  settled: boolean;
}

/** Reports changes of interest bits, and of whether a control decides, so that code outside the gate can follow a category without asking on each call. */
export class InterestWatchers {
  readonly #interest: Uint32Array;
  readonly #settled: Uint32Array;
  readonly #failed: (index: number, error: unknown) => void;
  /** Indexed by category. */
  readonly #watched: (Watched | undefined)[] = [];

  constructor(
    { interest, settled }: Pick<GateMemory, 'interest' | 'settled'>,
    failed: (index: number, error: unknown) => void,
  ) {
    this.#interest = interest;
    this.#settled = settled;
    this.#failed = failed;
  }

  /** Calls back when a bit changes, and at once if the interest bit is set. Returns a function that unsubscribes. */
  watch(index: number, listener: Listener): () => void {
    const wanted = hasBit(this.#interest, index);
    this.#watched[index] ??= { listeners: new Set(), wanted, settled: hasBit(this.#settled, index) };
    const { listeners } = this.#watched[index];
    const own: Listener = (now) => listener(now);
    listeners.add(own);
    if (wanted) this.#call(own, index, true);
    return () => {
      listeners.delete(own);
    };
  }

  /** Reports the changed bits of one word. */
  check(word: number): void {
    for (let index = word << 5; index < (word + 1) << 5; index++) {
      const watched = this.#watched[index];
      const wanted = hasBit(this.#interest, index);
      const settled = hasBit(this.#settled, index);
      if (watched === undefined || (watched.wanted === wanted && watched.settled === settled)) continue;
      Object.assign(watched, { wanted, settled });
      for (const listener of watched.listeners) this.#call(listener, index, wanted);
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
