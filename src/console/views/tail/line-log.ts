import type { TailLine } from '../../../protocol/streams.ts';
import { counted } from '../../parts/counted.ts';
import type { Filter } from './filter.ts';
import { attributesText } from './text-of-line.ts';

export type Row = { readonly id: number } & (
  | {
      readonly kind: 'line';
      readonly line: TailLine;
      /** Its attributes on one line. */
      readonly attributes: string;
    }
  /** What happened to the tail, between the lines. */
  | { readonly kind: 'note'; readonly text: string; readonly isWarning: boolean; readonly at: number }
);

export type LineRow = Extract<Row, { kind: 'line' }>;

export interface LogLimits {
  readonly rows: number;
  /** UTF-16 code units of all lines together. */
  readonly characters: number;
}

/** The size of a line's other fields. */
const FIXED_SIZE = 200;

/** The lines that were received, oldest first: the newest ones, as many as there is room for, and those that a filter lets through. */
export class LineLog {
  readonly #limits: LogLimits;
  #rows: Row[] = [];
  #held: Row[] = [];
  #holding = false;
  #unseen = 0;
  #size = 0;
  #heldSize = 0;
  #nextId = 1;
  #forgotten = 0;
  #filter: Filter | undefined;
  #shown: Row[] = this.#rows;
  /** Rows before this one have not been looked at since the filter was set. */
  #unfiltered = 0;
  #lines = 0;

  constructor(limits: LogLimits = { rows: 20_000, characters: 24_000_000 }) {
    this.#limits = limits;
  }

  /** What the filter lets through. The array is replaced or appended to. */
  get shown(): readonly Row[] {
    return this.#shown;
  }

  /** All rows. */
  get size(): number {
    return this.#rows.length;
  }

  /** Lines that wait while the reader pauses. */
  get held(): number {
    return this.#held.length;
  }

  /** Oldest rows that were given up for newer ones. */
  get forgotten(): number {
    return this.#forgotten;
  }

  /** Lines that were received in all. */
  get lines(): number {
    return this.#lines;
  }

  get isHolding(): boolean {
    return this.#holding;
  }

  /** Whether {@link work} has something to do. */
  get isFiltering(): boolean {
    return this.#unfiltered > 0;
  }

  line(line: TailLine): void {
    this.#lines += 1;
    this.#take({ id: this.#nextId++, kind: 'line', line, attributes: attributesText(line.attributes) });
  }

  /** @param at milliseconds since the epoch */
  note(text: string, isWarning: boolean, at: number): void {
    this.#take({ id: this.#nextId++, kind: 'note', text, isWarning, at });
  }

  /** Keeps what comes from now on apart, so that nothing moves under the reader's eyes. */
  hold(): void {
    this.#holding = true;
  }

  release(at: number): void {
    this.#holding = false;
    const held = this.#held;
    this.#held = [];
    this.#heldSize = 0;
    if (this.#unseen > 0) this.note(`${counted(this.#unseen, 'line', 'lines')} given up during the pause`, true, at);
    this.#unseen = 0;
    for (const row of held) this.#append(row);
  }

  clear(): void {
    this.#rows = [];
    this.#held = [];
    this.#size = 0;
    this.#heldSize = 0;
    this.#forgotten = 0;
    this.#unseen = 0;
    this.#lines = 0;
    this.setFilter(this.#filter);
  }

  /** Notes are always shown. {@link work} looks through the rows that are there. */
  setFilter(filter: Filter | undefined): void {
    this.#filter = filter;
    this.#shown = filter === undefined ? this.#rows : [];
    this.#unfiltered = filter === undefined ? 0 : this.#rows.length;
  }

  /**
   * Filters the rows that were there before the filter, the newest ones first.
   * @param isOver asked after each few rows
   */
  work(isOver: () => boolean): void {
    const found: Row[] = [];
    let looked = 0;
    while (this.#unfiltered > 0) {
      this.#unfiltered -= 1;
      const row = this.#rows[this.#unfiltered] as Row;
      if (this.#passes(row)) found.push(row);
      looked += 1;
      if (looked % 64 === 0 && isOver()) break;
    }
    if (found.length > 0) this.#shown = [...found.reverse(), ...this.#shown];
  }

  #take(row: Row): void {
    if (!this.#holding) {
      this.#append(row);
      return;
    }
    this.#held.push(row);
    this.#heldSize += sizeOf(row);
    const { rows, characters } = this.#limits;
    // Half, so that what stands before the pause stays when they follow.
    if (this.#held.length <= rows / 2 && this.#heldSize <= characters / 2) return;
    for (const gone of this.#held.splice(0, Math.ceil(this.#held.length / 20))) {
      this.#heldSize -= sizeOf(gone);
      this.#unseen += 1;
    }
  }

  #append(row: Row): void {
    this.#rows.push(row);
    this.#size += sizeOf(row);
    if (this.#filter !== undefined && this.#passes(row)) this.#shown.push(row);
    const { rows, characters } = this.#limits;
    if (this.#rows.length > rows || this.#size > characters) this.#forget(Math.ceil(this.#rows.length / 20));
  }

  /** Many at a time, because removing from the front moves all others. */
  #forget(count: number): void {
    for (const row of this.#rows.splice(0, count)) this.#size -= sizeOf(row);
    this.#forgotten += count;
    this.#unfiltered = Math.max(0, this.#unfiltered - count);
    if (this.#filter === undefined) return;
    const oldest = this.#rows[0]?.id ?? Number.POSITIVE_INFINITY;
    const keep = this.#shown.findIndex(({ id }) => id >= oldest);
    this.#shown.splice(0, keep === -1 ? this.#shown.length : keep);
  }

  #passes(row: Row): boolean {
    return row.kind === 'note' || this.#filter === undefined || this.#filter.matches(searchedText(row));
  }
}

/** What a filter looks through. */
export function searchedText({ line, attributes }: LineRow): string {
  const { message, category, tenant = '', traceId = '', instance, source = '' } = line;
  return `${message}\n${attributes}\n${category} ${tenant} ${traceId} ${instance} ${source}`;
}

function sizeOf(row: Row): number {
  // Attributes are there twice: as they came, and as text.
  return row.kind === 'note' ? FIXED_SIZE : FIXED_SIZE + row.line.message.length + 2 * row.attributes.length;
}
