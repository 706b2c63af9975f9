import type { CategoryDescriptor } from '../gate/types.ts';
import type { Call } from './record.ts';

/** Receives calls beside the outputs for a while. Taps change neither counters nor what is enabled. */
export interface Tap {
  /** Whether calls that it takes of a category that is off go to the outputs as well. @default false */
  readonly logs?: boolean;
  /** Whether the tap wants calls of this tenant. Also used by `.enabled`. */
  matches(tenantId: string | undefined): boolean;
  /** Whether its own rate allows one more call. Checked before anything of the call is built. */
  admits(): boolean;
  /** Receives a bounded and redacted call; must not modify the attributes. */
  take(category: CategoryDescriptor, call: Call): void;
}

/** The taps of each category. */
export interface Taps {
  of(category: CategoryDescriptor): readonly Tap[];
  /** @returns a function that removes it */
  add(category: CategoryDescriptor, tap: Tap): () => void;
}

/** @param changed called when a category gains or loses a tap, with whether it has any */
export function createTaps(changed: (category: CategoryDescriptor, tapped: boolean) => void): Taps {
  const taps = new Map<number, readonly Tap[]>();

  function set(category: CategoryDescriptor, list: readonly Tap[]): void {
    if (list.length === 0) taps.delete(category.index);
    else taps.set(category.index, list);
    changed(category, list.length > 0);
  }

  const of = ({ index }: CategoryDescriptor) => taps.get(index) ?? [];
  return {
    of,
    add(category, tap) {
      set(category, [...of(category), tap]);
      return () => {
        const list = of(category);
        if (list.includes(tap)) set(category, list.toSpliced(list.indexOf(tap), 1));
      };
    },
  };
}
