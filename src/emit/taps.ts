import type { CategoryDescriptor } from '../gate/types.ts';
import type { Call } from './record.ts';

/** Takes calls beside the outputs, for a while: they neither count because of it nor change what is on. */
export interface Tap {
  /** Whether a call that is made for this tenant is one of its own. Asked also by `.enabled`. */
  matches(tenantId: string | undefined): boolean;
  /** Whether it takes one more call now: its own rate. Asked before anything of the call is built. */
  admits(): boolean;
  /** Bounded and redacted; the attributes are not the tap's to change. */
  take(category: CategoryDescriptor, call: Call): void;
}

/** The taps of each category. */
export interface Taps {
  of(category: CategoryDescriptor): readonly Tap[];
  /** @returns a function that removes it */
  add(category: CategoryDescriptor, tap: Tap): () => void;
}

/** @param changed called with a category that has more or fewer taps than before, and whether it has any */
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
