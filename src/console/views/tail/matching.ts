import { Pattern } from './pattern.ts';

/** Most names of a pattern: more do not fit into an address. */
const MOST = 200;

/**
 * Names for what somebody typed: `db_pool`, several with commas or spaces, or patterns such as `DB_*`.
 * @param completes whether a beginning stands for the first name that has it
 */
export function matching(known: readonly string[], typed: string, completes = false): readonly string[] {
  const names = typed
    .toUpperCase()
    .split(/[^\w*-]+/)
    .flatMap((word) => {
      if (word === '') return [];
      if (!word.includes('*')) return known.find((name) => completes && name.startsWith(word)) ?? word;
      const pattern = new Pattern(`^${word.replaceAll('*', '.*')}$`);
      return known.filter((name) => pattern.test(name));
    });
  return names.slice(0, MOST);
}
