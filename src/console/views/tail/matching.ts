import type { DiscoveredCategory } from '../../../protocol/messages.ts';

type Searched = Pick<DiscoveredCategory, 'name' | 'description' | 'metrics'>;

/** Most names of a pattern: more do not fit into an address. */
const MOST = 200;

/**
 * Categories for a search: names that begin with it, then other names and descriptions that have it. `DB_*` is a pattern
 * for names.
 */
export function matching<T extends Searched>(
  categories: ReadonlyMap<string, T>,
  search: string,
  without: readonly string[],
): readonly T[] {
  const left = [...categories.values()].filter(({ name }) => !without.includes(name));
  const wanted = search.trim().toUpperCase();
  if (wanted.includes('*')) return left.filter(({ name }) => fits(name, wanted.split('*'))).slice(0, MOST);
  const rank = ({ name, description }: T) => {
    if (name.startsWith(wanted)) return 0;
    if (name.includes(wanted)) return 1;
    return description.toUpperCase().includes(wanted) ? 2 : 3;
  };
  return left
    .map((category) => [rank(category), category] as const)
    .filter(([rank]) => rank < 3)
    .sort(([a], [b]) => a - b)
    .map(([, category]) => category);
}

/** Whether the parts come in this order, the first and the last one at the ends. */
function fits(name: string, parts: readonly string[]): boolean {
  const [first = ''] = parts;
  const last = parts.at(-1) ?? '';
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length) return false;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = name.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return at <= name.length - last.length;
}
