import { hasBit } from './bits.ts';
import type { GateMemory } from './memory.ts';

type Listener = (wanted: boolean) => void;

interface Watched {
  readonly listeners: Set<Listener>;
  /** The bits as last reported. */
  wanted: boolean;
  settled: boolean;
  onlyRecorded: boolean;
  leastLevel: number;
}

/**
 * Reports changes of interest bits, of whether a control decides, of whether calls are only recorded, and of the least level, so that
 * code outside the gate can follow a category without asking on each call.
 */
export class InterestWatchers {
  readonly #memory: GateMemory;
  readonly #failed: (index: number, error: unknown) => void;
  /** Indexed by category. */
  readonly #watched: (Watched | undefined)[] = [];

  constructor(memory: GateMemory, failed: (index: number, error: unknown) => void) {
    this.#memory = memory;
    this.#failed = failed;
  }

  /** Calls back when a bit changes, and at once if the interest bit is set. Returns a function that unsubscribes. */
  watch(index: number, listener: Listener): () => void {
    const state = this.#stateOf(index);
    const { wanted } = state;
    this.#watched[index] ??= { listeners: new Set(), ...state };
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
      if (watched === undefined) continue;
      const { wanted, settled, onlyRecorded, leastLevel } = this.#stateOf(index);
      const isSame = watched.wanted === wanted && watched.settled === settled && watched.onlyRecorded === onlyRecorded;
      if (isSame && watched.leastLevel === leastLevel) continue;
      Object.assign(watched, { wanted, settled, onlyRecorded, leastLevel });
      for (const listener of watched.listeners) this.#call(listener, index, wanted);
    }
  }

  #stateOf(index: number): Omit<Watched, 'listeners'> {
    const { interest, settled, recorded, base, tenanted, tapped, leastLevels } = this.#memory;
    return {
      wanted: hasBit(interest, index),
      settled: hasBit(settled, index),
      onlyRecorded: hasBit(recorded, index) && ![base, tenanted, tapped].some((bits) => hasBit(bits, index)),
      leastLevel: leastLevels[index]!,
    };
  }

  /** Reports every changed bit. */
  checkAll(): void {
    for (let word = 0; word < this.#memory.interest.length; word++) this.check(word);
  }

  #call(listener: Listener, index: number, wanted: boolean): void {
    try {
      listener(wanted);
    } catch (error) {
      this.#failed(index, error);
    }
  }
}
