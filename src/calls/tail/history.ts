import type { DebugRecord } from '../../wire/debug-record.ts';
import type { Clock, Schedule } from '../../wire/time/clock.ts';
import { HELD_BYTES, keepable, recordOf } from '../emit/record.ts';
import { LineRate } from './rate.ts';
import { type Tapped, Tapping } from './tapping.ts';

/** Most bytes of lines that are kept in a process. */
const MAX_BYTES = 1024 * 1024;
/** Most lines that are kept of a second. */
const MAX_LINES_PER_SECOND = 1000;
/** Interval in which old lines are dropped, in milliseconds. */
const TICK_MS = 1000;

export interface HistoryOptions extends Tapped {
  readonly seconds: number;
  readonly categories: readonly string[];
  readonly clock: Clock;
  readonly schedule: Schedule;
}

interface Kept {
  readonly record: DebugRecord;
  /** On the monotonic clock. */
  readonly at: number;
  readonly bytes: number;
}

/** The lines of the last seconds of some categories, for tails that begin after what they are about. */
export class History {
  readonly #options: HistoryOptions;
  readonly #rate: LineRate;
  readonly #tapping: Tapping;
  readonly #stop: () => void;
  #kept: Kept[] = [];
  #bytes = 0;

  constructor(options: HistoryOptions) {
    const { categories, clock, schedule } = options;
    this.#options = options;
    this.#rate = new LineRate(MAX_LINES_PER_SECOND, categories);
    this.#tapping = new Tapping(options, categories, ({ name }) => ({
      matches: () => true,
      admits: () => this.#rate.take(name),
      take: (_category, call) => this.#keep(recordOf(keepable(call), clock.now()), call.bytes),
    }));
    this.#stop = schedule(TICK_MS, () => {
      this.#rate.refill(TICK_MS);
      this.#tapping.look();
      this.#forget();
    });
  }

  /** The lines of the last seconds, the oldest first. */
  last(seconds: number): readonly DebugRecord[] {
    const since = this.#options.clock.monotonic() - Math.min(seconds, this.#options.seconds) * 1000;
    return this.#kept.filter(({ at }) => at >= since).map(({ record }) => record);
  }

  close(): void {
    this.#stop();
    this.#tapping.end();
    this.#kept = [];
    this.#bytes = 0;
  }

  #keep(record: DebugRecord, callBytes: number): void {
    const bytes = callBytes + HELD_BYTES;
    this.#kept.push({ record, at: this.#options.clock.monotonic(), bytes });
    this.#bytes += bytes;
    if (this.#bytes > MAX_BYTES) this.#forget();
  }

  /** Drops what is too old; where it is too much, down to three quarters, so that not every line has to make room. */
  #forget(): void {
    const oldest = this.#options.clock.monotonic() - this.#options.seconds * 1000;
    const most = this.#bytes > MAX_BYTES ? (MAX_BYTES * 3) / 4 : MAX_BYTES;
    let dropped = 0;
    for (const { at, bytes } of this.#kept) {
      if (at >= oldest && this.#bytes <= most) break;
      this.#bytes -= bytes;
      dropped += 1;
    }
    this.#kept.splice(0, dropped);
  }
}
