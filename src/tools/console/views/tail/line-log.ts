import { attributesText, recordedOf } from '../../../../wire/line-text.ts';
import type { TailLine } from '../../../../wire/streams.ts';
import { counted } from '../../../../wire/words/count.ts';
import { exactTime } from '../../parts/format.ts';
import type { Filter } from './filter.ts';
import type { LineRow, Row } from './row.ts';

interface LogLimits {
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
  #size = 0;
  #nextId = 1;
  #filter: Filter | undefined;
  /** Rows before this one have not been looked at since the filter was set. */
  #unfiltered = 0;
  #shown: Row[] = this.#rows;
  /** The first row that came during the pause of the reader. */
  #pausedAt: number | undefined;
  /** Lines that came during the pause, for which there was no room. */
  #unseen = 0;
  /** Lines that were received in all. */
  lines = 0;
  /** Oldest rows that were given up for newer ones. */
  forgotten = 0;

  constructor(limits: LogLimits = { rows: 20_000, characters: 24_000_000 }) {
    this.#limits = limits;
  }

  /** The rows that pass the filter, during a pause those before it. The array is replaced or appended to. */
  get shown(): readonly Row[] {
    const pausedAt = this.#pausedAt;
    return pausedAt === undefined ? this.#shown : this.#shown.filter(({ id }) => id < pausedAt);
  }

  get rows(): readonly Row[] {
    return this.#rows;
  }

  /** All rows. */
  get size(): number {
    return this.#rows.length;
  }

  get isHolding(): boolean {
    return this.#pausedAt !== undefined;
  }

  /** Rows that wait for the end of the pause. */
  get held(): number {
    const { length } = this.#rows;
    return length - (this.#rows.findLastIndex(({ id }) => id < (this.#pausedAt ?? this.#nextId)) + 1);
  }

  /** Whether {@link work} has something to do. */
  get isFiltering(): boolean {
    return this.#unfiltered > 0;
  }

  /** @param process the name of the line's process */
  line(received: TailLine, process = received.instance): void {
    this.lines += 1;
    const { line, work } = recordedOf(received);
    const at = Date.parse(line.timestamp);
    const clock = exactTime(new Date(at));
    const attributes = attributesText(line.attributes);
    this.#append({ id: this.#nextId++, kind: 'line', line, at, clock, process, attributes, work });
  }

  /** A line of an earlier page. */
  restore(row: LineRow): void {
    this.lines += 1;
    this.#append({ ...row, id: this.#nextId++ });
  }

  /** @param at milliseconds since the epoch */
  note(text: string, isWarning: boolean, at: number): void {
    this.#append({ id: this.#nextId++, kind: 'note', text, isWarning, at });
  }

  /** Shows no new lines, so that nothing moves while it is read. */
  hold(): void {
    this.#pausedAt = this.#nextId;
  }

  release(at: number): void {
    this.#pausedAt = undefined;
    const unseen = this.#unseen;
    this.#unseen = 0;
    if (unseen > 0) this.note(`${counted(unseen, 'line')} dropped during the pause`, true, at);
    this.#forgetOldest();
  }

  clear(): void {
    this.#rows = [];
    this.#size = 0;
    this.forgotten = 0;
    this.#unseen = 0;
    this.lines = 0;
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

  #append(row: Row): void {
    // What stands before a pause stays, and half as much may follow.
    if (this.isHolding && this.#isOver(1.5)) {
      this.#unseen += 1;
      return;
    }
    this.#rows.push(row);
    this.#size += sizeOf(row);
    if (this.#filter !== undefined && this.#passes(row)) this.#shown.push(row);
    if (!this.isHolding) this.#forgetOldest();
  }

  #isOver(share: number): boolean {
    const { rows, characters } = this.#limits;
    return this.#rows.length > share * rows || this.#size > share * characters;
  }

  /** Many at a time, because removing from the front moves all others. */
  #forgetOldest(): void {
    while (this.#isOver(1)) {
      const count = Math.ceil(this.#rows.length / 20);
      for (const row of this.#rows.splice(0, count)) this.#size -= sizeOf(row);
      this.forgotten += count;
      this.#unfiltered = Math.max(0, this.#unfiltered - count);
    }
    const oldest = this.#rows[0]?.id ?? Number.POSITIVE_INFINITY;
    const gone = this.#shown.findIndex(({ id }) => id >= oldest);
    if (this.#filter !== undefined && gone !== 0) this.#shown.splice(0, gone === -1 ? this.#shown.length : gone);
  }

  #passes(row: Row): boolean {
    return row.kind !== 'line' || this.#filter === undefined || this.#filter.matches(row);
  }
}

function sizeOf(row: Row): number {
  // Attributes are there twice: as they came, and as text.
  return row.kind !== 'line' ? FIXED_SIZE : FIXED_SIZE + row.line.message.length + 2 * row.attributes.length;
}
