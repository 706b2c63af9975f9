import type { AskedInstances } from '../../wire/streams.ts';
import { type FleetMessage, MAX_PAGE } from './fleet-messages.ts';
import type { Line } from './line.ts';

/** Longest wait for the first lines of a process, in milliseconds. */
const WAIT_MS = 5000;
/** A process that has not answered for so long is asked again for the same lines, in milliseconds. */
const REPEAT_MS = 1000;
/** Characters that wait for the reader, of all processes together. */
const WAITING = 8 * 1024 * 1024;
const LEAST_PAGE = 16 * 1024;

/** A process that sends its recorded lines. */
interface Source {
  readonly lines: Line[];
  /** Index of the line to ask for. */
  next: number;
  /** How many follow those; `undefined` before the first page. */
  left: number | undefined;
  /** When it was asked for them, on the monotonic clock. */
  askedAt: number | undefined;
}

/**
 * Merges the recorded lines of several processes in the order of their times. Each sends a page when it is asked for it, so
 * that a slow reader loses none, and a message that is lost is only asked for again.
 */
export class PastLines {
  readonly #ask: (from: string, next: number, most: number) => void;
  readonly #processes: number;
  readonly #page: number;
  readonly #giveUpAt: number;
  readonly #sources = new Map<string, Source>();
  /** Processes whose lines were taken, or are. */
  readonly #answered = new Set<string>();
  #waits = true;
  #first: Source | undefined;
  /** Lines that do not come: malformed, too many, or of a process that is gone. */
  missed = 0;
  /** How far back all processes that have answered have their lines, in seconds, where that is less than was asked for. */
  reach: number | undefined;

  /**
   * @param processes that are expected to answer
   * @param now on the monotonic clock
   * @param ask asks a process, by its address, for a page of at most so many characters
   */
  constructor(processes: number, now: number, ask: (from: string, next: number, most: number) => void) {
    this.#processes = processes;
    this.#page = Math.min(MAX_PAGE, Math.max(LEAST_PAGE, Math.floor(WAITING / 2 / Math.max(1, processes))));
    this.#giveUpAt = now + WAIT_MS;
    this.#ask = ask;
  }

  /** A process answers, and may have lines. */
  joined(from: string): void {
    if (this.#sources.has(from) || this.#answered.has(from)) return;
    this.#sources.set(from, { lines: [], next: 0, left: undefined, askedAt: undefined });
  }

  hear(from: string, page: Extract<FleetMessage, { type: 'recorded' }>, now: number): void {
    this.joined(from);
    const source = this.#sources.get(from);
    // Only the first page comes unasked.
    if (source?.next !== page.from || (source.left !== undefined && source.askedAt === undefined)) return;
    if (source.left === undefined) this.missed += page.more;
    this.#answered.add(from);
    if (page.reach !== undefined) this.reach = Math.min(page.reach, this.reach ?? page.reach);
    source.lines.push(...page.lines);
    source.next += page.count;
    source.left = page.left;
    source.askedAt = undefined;
    this.missed += page.count - page.lines.length;
    this.#askNext(from, source, now);
  }

  /** A process is gone. */
  left(from: string): void {
    const source = this.#sources.get(from);
    this.missed += source?.left ?? 0;
    if (source?.left === undefined) this.#sources.delete(from);
    else source.left = 0;
  }

  /** Called at intervals. */
  tick(now: number): void {
    this.#waits &&= now < this.#giveUpAt && !this.#haveAnswered;
    for (const [from, source] of this.#sources) this.#askNext(from, source, now);
  }

  /** The next line in time order, which stays until it is taken; `undefined` while it is not known. */
  get next(): Line | undefined {
    this.#first = this.#waits ? undefined : this.#findFirst();
    return this.#first?.lines[0];
  }

  take(): void {
    this.#first?.lines.shift();
  }

  /** Whether all lines were taken. */
  get isOver(): boolean {
    return !this.#waits && [...this.#sources.values()].every(({ lines, left = 0 }) => lines.length + left === 0);
  }

  get instances(): AskedInstances {
    return { asked: Math.max(this.#processes, this.#answered.size), answered: this.#answered.size };
  }

  get #haveAnswered(): boolean {
    return (
      this.#answered.size >= this.#processes && [...this.#sources.values()].every(({ left }) => left !== undefined)
    );
  }

  /** The process whose line is next. */
  #findFirst(): Source | undefined {
    let first: Source | undefined;
    for (const source of this.#sources.values()) {
      const [line] = source.lines;
      if (line === undefined && (source.left ?? 0) > 0) return undefined;
      if (line !== undefined && (first === undefined || line.timestamp < first.lines[0]!.timestamp)) first = source;
    }
    return first;
  }

  /** Asks for a page before the one that waits has been read. */
  #askNext(from: string, source: Source, now: number): void {
    if (!source.left || source.lines.reduce((sum, { text }) => sum + text.length, 0) >= this.#page) return;
    if (source.askedAt !== undefined && now - source.askedAt < REPEAT_MS) return;
    source.askedAt = now;
    this.#ask(from, source.next, this.#page);
  }
}
