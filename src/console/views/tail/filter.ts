import { Pattern, type Range } from './pattern.ts';

/** What the reader looks for. */
export interface Filter {
  readonly matches: (text: string) => boolean;
  /** The parts to mark. */
  readonly ranges: (text: string) => readonly Range[];
}

/** `/expression/flags`. A path such as `/a/b` is plain text. */
const EXPRESSION = /^\/((?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\[])+)\/([gimsu]*)$/;

/** Longest text that an expression is tried on, in UTF-16 code units. */
const MAX_TEXT = 10_000;
/** Most parts that are marked in one text. */
const MAX_RANGES = 50;

/**
 * Plain text is found in upper and lower case. An expression is as in JavaScript.
 * @returns `undefined` for an empty filter
 * @throws {SyntaxError} with a message for the reader
 */
export function parseFilter(input: string): Filter | undefined {
  const text = input.trim();
  if (text === '') return undefined;
  const [, source, flags = ''] = EXPRESSION.exec(text) ?? [];
  return source === undefined ? plain(text) : expression(source, flags);
}

function plain(wanted: string): Filter {
  const needle = wanted.toLowerCase();
  return {
    matches: (text) => text.toLowerCase().includes(needle),
    ranges(text) {
      const lower = text.toLowerCase();
      // A few letters have a lower case of another length: then positions are not the same.
      if (lower.length !== text.length) return [];
      return ranges((from) => {
        const start = lower.indexOf(needle, from);
        return start === -1 ? undefined : [start, start + needle.length];
      });
    },
  };
}

function expression(source: string, flags: string): Filter {
  const pattern = new Pattern(source, flags.replace(/[^ims]/g, ''));
  const cut = (text: string) => text.slice(0, MAX_TEXT);
  return {
    matches: (text) => pattern.test(cut(text)),
    ranges: (text) => ranges((from) => pattern.find(cut(text), from)),
  };
}

/** Every match that has a length, one after the other. */
function ranges(find: (from: number) => Range | undefined): readonly Range[] {
  const found: Range[] = [];
  let from = 0;
  for (let tries = 0; tries < MAX_RANGES; tries++) {
    const range = find(from);
    if (range === undefined) break;
    const [start, end] = range;
    if (end > start) found.push(range);
    from = Math.max(end, start + 1);
  }
  return found;
}
