import type { TailEndReason } from '../../wire/audit-messages.ts';
import type { TailCounts, TailDropped, TailEnd, TailInstance } from '../../wire/streams.ts';
import type { Clock, Schedule } from '../../wire/time/clock.ts';
import { timestamp } from '../../wire/time.ts';
import { takesTenant } from '../emit/selection.ts';
import type { Line } from './line.ts';
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
  /** Called once, unless the reader has left. */
  end(end: TailEnd): void;
}

export interface TailRequest extends LineSpec {
  readonly milliseconds: number;
  /** Ends the tail after that many. @default no limit */
  readonly lines?: number | undefined;
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
  #stop: (() => void) | undefined;
  #over = false;
  #lines = 0;
  /** Lines from before it began that may still come, from all processes together. */
  #historyLeft: number;
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
    this.#historyLeft = request.rate * (request.since ?? 0);
    this.#checkedAt = options.clock.monotonic();
    this.#countsToldAt = this.#checkedAt;
    this.#endsAt = this.#checkedAt + request.milliseconds;
  }

  /** Its first lines follow within milliseconds. */
  begin(relay: Relay): void {
    if (this.#over) return;
    this.#stop = this.#options.schedule(CHECK_MS, () => this.#check());
    this.#running = relay.tail(this.#request, {
      lines: (batch) => this.#take(batch),
      instance: (instance) => {
        this.#instances.push(instance);
        this.#tellInstances();
      },
    });
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
      if (!this.#hasRoomFor(line) || !this.#reader.line(line.text)) {
        over += 1;
        continue;
      }
      this.#lines += 1;
      if (this.#lines === this.#request.lines) {
        this.#drop(over);
        this.end('budget');
        return;
      }
    }
    this.#drop(over);
  }

  #hasRoomFor({ category, history }: Line): boolean {
    if (!history) return this.#rate.take(category);
    this.#historyLeft -= 1;
    return this.#historyLeft >= 0;
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
