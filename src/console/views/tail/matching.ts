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
      const parts = word.split('*');
      return known.filter((name) => hasParts(name, parts));
    });
  return names.slice(0, MOST);
}

/** Whether a name is made of these parts, with anything between them. Linear, unlike a regular expression of many `.*`. */
function hasParts(name: string, parts: readonly string[]): boolean {
  const last = parts.at(-1) ?? '';
  let from = 0;
  for (const [index, part] of parts.slice(0, -1).entries()) {
    const at = name.indexOf(part, from);
    if (at === -1 || (index === 0 && at !== 0)) return false;
    from = at + part.length;
  }
  return name.length >= from + last.length && name.endsWith(last);
}
