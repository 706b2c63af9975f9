import type { TailEndReason } from '../../wire/audit-messages.ts';
import type { TailCounts, TailDropped, TailEnd, TailInstance, TailNow } from '../../wire/streams.ts';
import type { Clock, Schedule } from '../../wire/time/clock.ts';
import { formatDuration, timestamp } from '../../wire/time.ts';
import { takesTenant } from '../emit/selection.ts';
import type { Line } from './line.ts';
import type { PastLines } from './past.ts';
import { LineRate } from './rate.ts';
import type { Relay, Tailing } from './relay.ts';
import type { LineBatch, LineSpec } from './types.ts';

/** Interval in which a tail checks whether it is over, in milliseconds. */
const CHECK_MS = 50;
/** Shortest interval between two `dropped` events, in milliseconds. */
const TELL_DROPPED_MS = 1000;
/** Shortest interval between two `counts` events, in milliseconds. */
const TELL_COUNTS_MS = 1000;

/** Where a tail goes. Each function returns whether the reader has room for it. */
export interface TailReader {
  /** @param line a `TailLine` as JSON */
  line(line: string): boolean;
  dropped(dropped: TailDropped): boolean;
  instance(instance: TailInstance): boolean;
  counts(counts: TailCounts): boolean;
  /** The lines from before are over. */
  now(now: TailNow): boolean;
  /** Called once, unless the reader has left. */
  end(end: TailEnd): void;
}

export interface TailRequest extends LineSpec {
  readonly milliseconds: number;
  /** Ends the tail after that many. @default no limit */
  readonly lines?: number | undefined;
  /** Ends it where live lines would begin. @default false */
  readonly past?: boolean | undefined;
  /** Processes that are expected to have lines from before. @default 1 */
  readonly processes?: number | undefined;
}

/** A tail's result, for the audit trail. */
export interface TailSummary {
  readonly reason: TailEndReason | 'closed';
  readonly lines: number;
  readonly dropped: number;
}

/** Clock and timers of a tail. */
export interface TailTimes {
  readonly clock: Clock;
  readonly schedule: Schedule;
}

/** One tail: the lines of all processes, within the rate, for a time. */
export class Tail {
  readonly #request: TailRequest;
  readonly #reader: TailReader;
  readonly #options: TailTimes;
  readonly #ended: (summary: TailSummary) => void;
  readonly #rate: LineRate;
  readonly #categories: ReadonlySet<string>;
  readonly #endsAt: number;
  /** Changes that the reader had no room for. */
  #instances: TailInstance[] = [];
  #running: Tailing | undefined;
  /** `undefined` once it was read. */
  #past: Tailing['past'];
  #stop: (() => void) | undefined;
  #over = false;
  #lines = 0;
  #dropped = 0;
  #untold: { count: number; readonly since: number } | undefined;
  #toldAt = Number.NEGATIVE_INFINITY;
  #countsToldAt: number;
  #countsTold = '';
  #checkedAt: number;

  /** @param ended called once, whatever ended it */
  constructor(request: TailRequest, reader: TailReader, options: TailTimes, ended: (summary: TailSummary) => void) {
    this.#request = request;
    this.#reader = reader;
    this.#options = options;
    this.#ended = ended;
    this.#categories = new Set(request.categories);
    this.#rate = new LineRate(request.rate, request.categories);
    this.#checkedAt = options.clock.monotonic();
    this.#countsToldAt = this.#checkedAt;
    this.#endsAt = this.#checkedAt + request.milliseconds;
  }

  /** Its first lines follow within milliseconds. */
  begin(relay: Relay): void {
    if (this.#over) return;
    this.#stop = this.#options.schedule(CHECK_MS, () => this.#check());
    this.#running = relay.tail(
      this.#request,
      {
        lines: (batch) => this.#take(batch),
        instance: (instance) => {
          this.#instances.push(instance);
          this.#tellInstances();
        },
      },
      this.#request.processes,
    );
    this.#past = this.#running.past;
  }

  end(reason: TailSummary['reason']): void {
    if (this.#over) return;
    this.#over = true;
    this.#stop?.();
    if (reason !== 'closed') this.#tellCounts(this.#options.clock.monotonic());
    this.#running?.end();
    const counts = { lines: this.#lines, dropped: this.#dropped };
    if (reason !== 'closed') this.#reader.end({ reason, ...counts });
    this.#ended({ reason, ...counts });
  }

  #take({ lines, dropped }: LineBatch): void {
    if (this.#over) return;
    let over = dropped;
    for (const line of lines) {
      if (!this.#isAsked(line)) continue;
      if (!this.#rate.take(line.category) || !this.#reader.line(line.text)) {
        over += 1;
        continue;
      }
      if (this.#isLast()) {
        this.#drop(over);
        this.end('budget');
        return;
      }
    }
    this.#drop(over);
  }

  /** Counts a line. Returns whether it is the last one that was asked for. */
  #isLast(): boolean {
    this.#lines += 1;
    return this.#lines === this.#request.lines;
  }

  /** Passes on lines from before as fast as the reader takes them; the others wait where they were made. */
  #readPast(past: PastLines): void {
    for (let line = past.next; line !== undefined; line = past.next) {
      if (this.#isAsked(line)) {
        if (!this.#reader.line(line.text)) return;
        if (this.#isLast()) {
          this.end('budget');
          return;
        }
      }
      past.take();
    }
    if (!past.isOver || !this.#reader.now(nowAfter(past))) return;
    this.#drop(past.missed);
    this.#past = undefined;
    if (this.#request.past === true) this.end('past');
    else this.#running?.live();
  }

  /** The process that sent a line has filtered already; another tenant's must not pass even if it did not. */
  #isAsked({ category, tenant }: Line): boolean {
    return this.#categories.has(category) && takesTenant(this.#request, tenant);
  }

  #drop(count: number): void {
    if (count === 0) return;
    this.#dropped += count;
    this.#untold ??= { count: 0, since: this.#options.clock.now() };
    this.#untold.count += count;
  }

  #check(): void {
    const now = this.#options.clock.monotonic();
    this.#rate.refill(now - this.#checkedAt);
    this.#checkedAt = now;
    this.#tellInstances();
    if (this.#past !== undefined) this.#readPast(this.#past);
    if (this.#over) return;
    this.#tellDropped(now);
    if (now - this.#countsToldAt >= TELL_COUNTS_MS) this.#tellCounts(now);
    if (now >= this.#endsAt) this.end('expired');
  }

  #tellInstances(): void {
    while (this.#instances[0] !== undefined && this.#reader.instance(this.#instances[0])) this.#instances.shift();
    // A reader that stands still hears of the last ones.
    this.#instances = this.#instances.slice(-1000);
  }

  /** Only a reader without a line asks why. */
  #tellCounts(now: number): void {
    if (this.#lines + this.#dropped > 0 || this.#running === undefined) return;
    this.#countsToldAt = now;
    const { counts } = this.#running;
    const text = JSON.stringify(counts);
    if (text !== this.#countsTold && this.#reader.counts(counts)) this.#countsTold = text;
  }

  #tellDropped(now: number): void {
    if (this.#untold === undefined || now - this.#toldAt < TELL_DROPPED_MS) return;
    const { count, since } = this.#untold;
    if (!this.#reader.dropped({ count, since: timestamp(since) })) return;
    this.#untold = undefined;
    this.#toldAt = now;
  }
}

function nowAfter({ instances, reach }: PastLines): TailNow {
  return { instances, ...(reach !== undefined && { reachesBack: formatDuration(Math.max(1, reach)) }) };
}
