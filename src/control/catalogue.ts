import type { CategoryDescriptor, Gate } from '../gate/types.ts';

/** What the owner of the service says of a category, over what the code registered. */
export interface CategoryOverride {
  readonly description?: string | undefined;
  readonly enabled?: boolean | undefined;
}

/** A registered category as this control plane has it. */
export interface CatalogueEntry {
  readonly index: number;
  readonly name: string;
  readonly description: string;
  readonly defaultEnabled: boolean;
}

/** Every registered category, with what the configuration says of it. */
export interface Catalogue {
  /** State of each category where nobody switched it. */
  readonly defaults: ReadonlyMap<string, boolean>;
  /** Sorted by name, in the order of UTF-16 code units. The same array while nothing about any of them changed. */
  sorted(): readonly CatalogueEntry[];
  /** Position of a category in the gate; `undefined` when it is not registered. */
  indexOf(name: string): number | undefined;
  add(category: CategoryDescriptor): void;
}

export function createCatalogue(
  gate: Pick<Gate, 'categories'>,
  overrides: Readonly<Record<string, CategoryOverride>>,
): Catalogue {
  const defaults = new Map<string, boolean>();
  const indexes = new Map<string, number>();
  let sorted: readonly CatalogueEntry[] | undefined;
  /** Categories of the sorted list whose description may still be filled in, which nobody announces. */
  let undescribed: readonly CategoryDescriptor[] = [];

  function add({ name, index, defaultEnabled }: CategoryDescriptor): void {
    defaults.set(name, overrideOf(name)?.enabled ?? defaultEnabled);
    indexes.set(name, index);
    sorted = undefined;
  }

  function overrideOf(name: string): CategoryOverride | undefined {
    return Object.hasOwn(overrides, name) ? overrides[name] : undefined;
  }

  function list(): readonly CatalogueEntry[] {
    const registered = gate.categories();
    undescribed = registered.filter(({ name, description }) => description === '' && !overrideOf(name)?.description);
    return [...indexes]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, index]) => ({
        index,
        name,
        description: overrideOf(name)?.description ?? registered[index]?.description ?? '',
        defaultEnabled: defaults.get(name) === true,
      }));
  }

  for (const category of gate.categories()) add(category);
  return {
    defaults,
    add,
    indexOf: (name) => indexes.get(name),
    sorted() {
      if (sorted === undefined || undescribed.some(({ description }) => description !== '')) sorted = list();
      return sorted;
    },
  };
}
