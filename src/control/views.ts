import type { ScopeKey } from '../store/state-store.ts';
import type { CatalogueEntry } from './catalogue.ts';
import type { CategoryView } from './types.ts';

/** Scopes whose views are kept. Few are read again and again; a view of thousands of categories takes some room. */
const MAX_KEPT = 16;

/** Views of scopes, made once for all who ask between two changes. */
export function createViews() {
  const kept = new Map<ScopeKey, { readonly of: readonly CatalogueEntry[]; readonly view: readonly CategoryView[] }>();
  return {
    /** The view of a scope, made by `make` when there is none of these categories. */
    take(key: ScopeKey, of: readonly CatalogueEntry[], make: () => readonly CategoryView[]): readonly CategoryView[] {
      const known = kept.get(key);
      if (known?.of === of) return known.view;
      if (kept.size >= MAX_KEPT) kept.clear();
      const view = make();
      kept.set(key, { of, view });
      return view;
    },
    forget(): void {
      kept.clear();
    },
  };
}
