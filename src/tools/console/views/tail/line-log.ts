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
  #held: Row[] = [];
  #unseen = 0;
  #size = 0;
  #heldSize = 0;
  #nextId = 1;
  #filter: Filter | undefined;
  /** Rows before this one have not been looked at since the filter was set. */
  #unfiltered = 0;
  #shown: Row[] = this.#rows;
  /** Lines that were received in all. */
  lines = 0;
  /** Oldest rows that were given up for newer ones. */
  forgotten = 0;
  isHolding = false;

  constructor(limits: LogLimits = { rows: 20_000, characters: 24_000_000 }) {
    this.#limits = limits;
  }

  /** The rows that pass the filter. The array is replaced or appended to. */
  get shown(): readonly Row[] {
    return this.#shown;
  }

  get rows(): readonly Row[] {
    return this.#rows;
  }

  /** All rows. */
  get size(): number {
    return this.#rows.length;
  }

  /** Lines that wait while the reader pauses. */
  get held(): number {
    return this.#held.length;
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
    this.#take({ id: this.#nextId++, kind: 'line', line, at, clock, process, attributes, work });
  }

  /** A line of an earlier page. */
  restore(row: LineRow): void {
    this.lines += 1;
    this.#take({ ...row, id: this.#nextId++ });
  }

  /** @param at milliseconds since the epoch */
  note(text: string, isWarning: boolean, at: number): void {
    this.#take({ id: this.#nextId++, kind: 'note', text, isWarning, at });
  }

  /** Keeps new lines apart, so that nothing moves while it is read. */
  hold(): void {
    this.isHolding = true;
  }

  release(at: number): void {
    this.isHolding = false;
    const held = this.#held;
    this.#held = [];
    this.#heldSize = 0;
    if (this.#unseen > 0) this.note(`${counted(this.#unseen, 'line')} dropped during the pause`, true, at);
    this.#unseen = 0;
    for (const row of held) this.#append(row);
  }

  clear(): void {
    this.#rows = [];
    this.#held = [];
    this.#size = 0;
    this.#heldSize = 0;
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

  #take(row: Row): void {
    if (!this.isHolding) {
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
    this.forgotten += count;
    this.#unfiltered = Math.max(0, this.#unfiltered - count);
    if (this.#filter === undefined) return;
    const oldest = this.#rows[0]?.id ?? Number.POSITIVE_INFINITY;
    const keep = this.#shown.findIndex(({ id }) => id >= oldest);
    this.#shown.splice(0, keep === -1 ? this.#shown.length : keep);
  }

  #passes(row: Row): boolean {
    return row.kind !== 'line' || this.#filter === undefined || this.#filter.matches(row);
  }
}

function sizeOf(row: Row): number {
  // Attributes are there twice: as they came, and as text.
  return row.kind !== 'line' ? FIXED_SIZE : FIXED_SIZE + row.line.message.length + 2 * row.attributes.length;
}
