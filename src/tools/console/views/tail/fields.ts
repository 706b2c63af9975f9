import { fieldOf, plainValue, termFor, wordsOf } from './filter.ts';
import type { Row } from './row.ts';

/** A field of the lines, with its most frequent values. */
export interface FieldCount {
  readonly name: string;
  /** The most frequent one first. */
  readonly values: readonly (readonly [value: string, count: number])[];
  /** How many different values it has. */
  readonly distinct: number;
}

/** Newest lines that are counted. */
const MOST_LINES = 2000;
/** Values that are named of a field. */
const MOST_VALUES = 8;
/** Longest value that is counted, in UTF-16 code units. */
const MOST_LENGTH = 100;
const OWN_FIELDS = ['category', 'tenant', 'process', 'logger', 'trace'];

/** The fields of the newest lines, and how often each value occurs. */
export function fieldsOf(rows: readonly Row[]): readonly FieldCount[] {
  const fields = new Map<string, Map<string, number>>(OWN_FIELDS.map((name) => [name, new Map()]));
  const count = (name: string, value: string | undefined) => {
    if (value === undefined || value.length > MOST_LENGTH) return;
    let values = fields.get(name);
    if (values === undefined) {
      values = new Map();
      fields.set(name, values);
    }
    values.set(value, (values.get(value) ?? 0) + 1);
  };
  for (const row of rows.slice(-MOST_LINES)) {
    if (row.kind !== 'line') continue;
    for (const name of OWN_FIELDS) count(name, fieldOf(row, name));
    for (const [name, value] of Object.entries(row.line.attributes)) {
      if (value === null || typeof value !== 'object') count(name, plainValue(value));
    }
  }
  return [...fields]
    .filter(([, { size }]) => size > 0)
    .map(([name, values]) => ({
      name,
      distinct: values.size,
      values: [...values].sort(([, a], [, b]) => b - a).slice(0, MOST_VALUES),
    }));
}

/** What the last word of a filter may become: the whole filter with each. */
export function completionsOf(input: string, fields: readonly FieldCount[]): readonly string[] {
  const last = /\s$/.test(input) ? '' : (wordsOf(input).at(-1) ?? '');
  const before = input.slice(0, input.length - last.length);
  const minus = last.startsWith('-') ? '-' : '';
  const typed = last.slice(minus.length);
  const at = typed.indexOf(':');
  const field = at === -1 ? undefined : fields.find(({ name }) => name === typed.slice(0, at));
  const words =
    field === undefined
      ? fields.filter(({ name }) => name.startsWith(typed)).map(({ name }) => `${name}:`)
      : field.values.map(([value]) => termFor(field.name, value)).filter((term) => term.startsWith(typed));
  return words.filter((word) => word !== typed).map((word) => `${before}${minus}${word}`);
}
