import type { CategoryDescriptor } from '../../gate/types.ts';
import type { Call } from './record.ts';

/** Receives calls beside the outputs for a while. Taps change neither counters nor what is enabled. */
export interface Tap {
  /** Whether calls that it takes of a category that is off go to the outputs as well. @default false */
  readonly logs?: boolean;
  /** Whether the tap wants calls of this tenant. Also used by `.enabled`. */
  matches(tenantId: string | undefined): boolean;
  /** Called for a call that it does not match, and for each time that `.enabled` is false because of that. */
  missed?(tenantId: string | undefined): void;
  /** Whether its own rate allows one more call. Checked before anything of the call is built. */
  admits(): boolean;
  /** Receives a bounded and redacted call; must not modify the attributes. */
  take(category: CategoryDescriptor, call: Call): void;
}

type Listener = (index: number) => void;

/** What is attached to categories, such as taps. */
export class Attached<T> {
  readonly #lists = new Map<number, readonly T[]>();
  readonly #listeners = new Set<Listener>();

  of({ index }: Pick<CategoryDescriptor, 'index'>): readonly T[] {
    return this.#lists.get(index) ?? [];
  }

  /** @returns a function that removes it */
  add(category: CategoryDescriptor, item: T): () => void {
    this.#set(category, [...this.of(category), item]);
    return () => {
      const list = this.of(category);
      if (list.includes(item)) this.#set(category, list.toSpliced(list.indexOf(item), 1));
    };
  }

  has(index: number): boolean {
    return this.#lists.has(index);
  }

  /** Calls back with every category that has some, and whenever a category gains or loses one. */
  watch(listener: Listener): () => void {
    this.#listeners.add(listener);
    for (const index of this.#lists.keys()) listener(index);
    return () => this.#listeners.delete(listener);
  }

  #set({ index }: CategoryDescriptor, list: readonly T[]): void {
    if (list.length === 0) this.#lists.delete(index);
    else this.#lists.set(index, list);
    for (const listener of this.#listeners) listener(index);
  }
}
