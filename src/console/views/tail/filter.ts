/** Start and end of a part of a text. */
export type Range = readonly [start: number, end: number];

/** What the reader looks for. */
export interface Filter {
  readonly matches: (text: string) => boolean;
  /** The parts to mark, in their order. */
  readonly ranges: (text: string) => readonly Range[];
}

/** Most parts that are marked in one text. */
const MAX_RANGES = 50;

/**
 * Every word occurs, in upper or lower case; a word after `-` does not. Not a regular expression: one that backtracks cannot be
 * stopped in a page, and somebody types it in a hurry.
 * @returns `undefined` for an empty filter
 */
export function parseFilter(input: string): Filter | undefined {
  const words = input
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '' && word !== '-');
  if (words.length === 0) return undefined;
  const wanted = words.filter((word) => !word.startsWith('-'));
  const unwanted = words.filter((word) => word.startsWith('-')).map((word) => word.slice(1));
  return {
    matches(text) {
      const lower = text.toLowerCase();
      return wanted.every((word) => lower.includes(word)) && !unwanted.some((word) => lower.includes(word));
    },
    ranges: (text) => rangesOf(wanted, text),
  };
}

/** Where any of the words stands, one after the other; of those that begin at one place the longest. */
function rangesOf(words: readonly string[], text: string): readonly Range[] {
  const lower = text.toLowerCase();
  const found: Range[] = [];
  // A few letters have a lower case of another length: then positions are not the same.
  if (lower.length !== text.length) return found;
  for (let from = 0; found.length < MAX_RANGES; ) {
    const [next] = words
      .map((word): Range => [lower.indexOf(word, from), word.length])
      .filter(([start]) => start !== -1)
      .sort(([a, long], [b, longer]) => a - b || longer - long);
    if (next === undefined) break;
    from = next[0] + next[1];
    found.push([next[0], from]);
  }
  return found;
}
