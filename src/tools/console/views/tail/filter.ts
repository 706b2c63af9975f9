import { allowing } from '../../../../wire/names.ts';
import type { JsonValue } from '../../../../wire/streams.ts';
import type { LineRow } from './row.ts';

/** Start and end of a part of a text. */
export type Range = readonly [start: number, end: number];

/** What the reader looks for. */
export interface Filter {
  readonly matches: (row: LineRow) => boolean;
  /** The parts to mark, in their order. */
  readonly ranges: (text: string) => readonly Range[];
}

/** Most parts that are marked in one text. */
const MAX_RANGES = 50;

/** A word of a filter. */
interface Term {
  readonly excludes: boolean;
  /** The text that it marks, in lower case. */
  readonly word: string;
  /** @param text all of the row, in lower case */
  readonly matches: (row: LineRow, text: string) => boolean;
}

/**
 * The filter for a text such as `timeout -retry tenant:acme rows>100 sql:"select 1"`: every word occurs, in upper or lower
 * case; a word after `-` does not. Not a regular expression: one that backtracks cannot be stopped in a page, and it is typed
 * in a hurry.
 * @returns `undefined` for an empty filter
 */
export function parseFilter(input: string): Filter | undefined {
  const terms = wordsOf(input)
    .filter((word) => word !== '-')
    .map(termOf);
  if (terms.length === 0) return undefined;
  const marked = terms.filter(({ excludes, word }) => !excludes && word !== '').map(({ word }) => word);
  return {
    matches(row) {
      const text = searchedText(row).toLowerCase();
      return terms.every((term) => term.matches(row, text) !== term.excludes);
    },
    ranges: (text) => rangesOf(marked, text),
  };
}

/** The words of a filter. One with spaces stands in quotes. */
export function wordsOf(input: string): readonly string[] {
  return input.match(/(?:[^\s"]|"[^"]*"?)+/g) ?? [];
}

/** A word of a filter for a value of a field. */
export function termFor(name: string, value: string): string {
  return `${name}:${/^[^\s"]+$/.test(value) ? value : `"${value.replaceAll('"', '')}"`}`;
}

/** A filter with another word, once. */
export function withTerm(input: string, term: string): string {
  const opposite = term.startsWith('-') ? term.slice(1) : `-${term}`;
  return [...wordsOf(input).filter((word) => word !== term && word !== opposite), term].join(' ');
}

const COMPARISONS: Readonly<Record<string, (order: number) => boolean>> = {
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
};

function termOf(typed: string): Term {
  const excludes = typed.startsWith('-');
  const whole = excludes ? typed.slice(1) : typed;
  const [, name = '', operator = '', rest = ''] = /^([A-Za-z_][\w./@$-]*?)(:|[<>]=?)(.+)$/s.exec(whole) ?? [];
  const value = rest.replaceAll('"', '').toLowerCase();
  const compare = COMPARISONS[operator];
  if (compare !== undefined && (name === 'time' || Number.isFinite(Number(value || Number.NaN)))) {
    return { excludes, word: '', matches: (row) => compared(fieldOf(row, name), value, compare) };
  }
  const literal = whole.toLowerCase().replace(/^"([^"]+)"?$/, '$1');
  if (operator !== ':') return { excludes, word: literal, matches: (_, text) => text.includes(literal) };
  return {
    excludes,
    word: value.replace(/\*$/, ''),
    matches: (row, text) => isValue(fieldOf(row, name), value) || text.includes(literal),
  };
}

/** Numbers by their size, times of the day by their digits. */
function compared(field: string | undefined, value: string, compare: (order: number) => boolean): boolean {
  if (field === undefined) return false;
  const order = Number(field) - Number(value);
  if (!Number.isNaN(order)) return compare(order);
  return field.includes(':') && value.includes(':') && compare(field < value ? -1 : field > value ? 1 : 0);
}

function isValue(field: string | undefined, value: string): boolean {
  return field !== undefined && allowing(value)(field.toLowerCase());
}

/** A field of a line by its name in a filter: its own ones, then its attributes. */
export function fieldOf({ line, process, clock }: LineRow, name: string): string | undefined {
  const { category, tenant, traceId, source, message } = line;
  const own: Readonly<Record<string, string | undefined>> = {
    category,
    tenant,
    process,
    trace: traceId,
    logger: source,
    message,
    time: clock,
  };
  if (Object.hasOwn(own, name) && own[name] !== undefined) return own[name];
  return Object.hasOwn(line.attributes, name) ? plainValue(line.attributes[name] ?? null) : undefined;
}

/** A string as it is, anything else as JSON. */
export function plainValue(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The text that words are looked for in. */
function searchedText({ line, attributes, process }: LineRow): string {
  const { message, category, tenant = '', traceId = '', instance, source = '' } = line;
  return `${message}\n${attributes}\n${category} ${tenant} ${traceId} ${process} ${instance} ${source}`;
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
