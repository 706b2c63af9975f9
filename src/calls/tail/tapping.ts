import type { CategoryDescriptor, Gate } from '../../gate/types.ts';
import type { Tap } from '../emit/taps.ts';

/** The parts of a process that taps need. */
export interface Tapped {
  readonly gate: Pick<Gate, 'categories'>;
  readonly addTap: (category: CategoryDescriptor, tap: Tap) => () => void;
}

/** The parts of a process that count what the taps miss. */
export interface Counting {
  readonly work: { attributeNames(): Iterable<string> };
}

/** Taps on categories by name, including those that are registered later. */
export class Tapping {
  readonly #tapped: Tapped;
  readonly #missing: Set<string>;
  readonly #tapOf: (category: CategoryDescriptor) => Tap;
  readonly #removers: (() => void)[] = [];
  #seen = 0;

  constructor(tapped: Tapped, names: readonly string[], tapOf: (category: CategoryDescriptor) => Tap) {
    this.#tapped = tapped;
    this.#missing = new Set(names);
    this.#tapOf = tapOf;
    this.look();
  }

  /** Taps what was registered since. */
  look(): void {
    const categories = this.#tapped.gate.categories();
    for (; this.#seen < categories.length; this.#seen++) {
      const category = categories[this.#seen]!;
      if (this.#missing.delete(category.name))
        this.#removers.push(this.#tapped.addTap(category, this.#tapOf(category)));
    }
  }

  end(): void {
    for (const remove of this.#removers.splice(0)) remove();
    this.#missing.clear();
  }
}
