import { DROP } from '../../gate/drops.ts';
import { type Call, recordOf } from '../emit/record.ts';
import { type Line, type LineSource, lineOfRecord } from './line.ts';
import { LineRate } from './rate.ts';
import { Tapping, type TappingOptions } from './tapping.ts';
import type { CountsByCategory, LineBatch, LineSpec } from './types.ts';

/** Most characters of lines that wait to be fetched, and of those that wait until recorded ones were read. */
const MAX_WAITING = 128 * 1024;
const MAX_WAITING_BEHIND = 1024 * 1024;

/** Most calls that are built in a second to see whether a filter passes them: they take some hundredths of a processor. */
const MAX_LOOKS = 5000;

const NOTHING: LineBatch = { lines: [], dropped: 0 };

export interface LineTapOptions extends TappingOptions, LineSource {}

/** Collects the lines of a tail in this process, within its rate and a bounded buffer. */
export class LineTap {
  readonly #options: LineTapOptions;
  readonly #rate: LineRate;
  /** Bounds the lines that are built to be filtered. */
  readonly #looks: LineRate;
  readonly #tapping: Tapping;
  readonly #maxWaiting: number;
  #lines: Line[] = [];
  #waiting = 0;
  #dropped = 0;

  /** @param ready called at the moment from which on it takes lines */
  constructor(options: LineTapOptions, spec: LineSpec, ready?: () => void) {
    const { categories, rate, log, since } = spec;
    this.#options = options;
    this.#rate = new LineRate(rate, categories);
    this.#looks = new LineRate(MAX_LOOKS, categories);
    this.#maxWaiting = since === undefined ? MAX_WAITING : MAX_WAITING_BEHIND;
    const takerOf: ConstructorParameters<typeof Tapping>[2] = (name, counter, selection) => ({
      logs: log,
      admits: () => {
        if (selection.hasTime) return this.#within(selection.filtersLines ? this.#looks : this.#rate, name);
        this.#dropped += 1;
        return false;
      },
      take: (call) => {
        if (!selection.filtersLines) this.#keep(call);
        else if (counter.takesLine(recordOf(call, options.now())) && this.#within(this.#rate, name)) this.#keep(call);
      },
      looks: () => this.#looks.take(name),
      write: (call) => {
        if (!this.#within(this.#rate, name)) return DROP.budget;
        this.#keep(call);
        return undefined;
      },
      lost: () => {
        this.#dropped += 1;
      },
    });
    this.#tapping = new Tapping(options, spec, takerOf, ready);
  }

  /** While set, calls are only counted, as dropped. */
  set suspended(suspended: boolean) {
    this.#tapping.suspended = suspended;
  }

  #within(rate: LineRate, category: string): boolean {
    if (this.#waiting < this.#maxWaiting && rate.take(category)) return true;
    this.#dropped += 1;
    return false;
  }

  #keep(call: Call): void {
    const sent = lineOfRecord(recordOf(call, this.#options.now()), this.#options);
    this.#lines.push(sent);
    this.#waiting += sent.text.length;
  }

  /** Called at intervals. */
  tick(milliseconds: number): void {
    this.#rate.refill(milliseconds);
    this.#looks.refill(milliseconds);
    this.#tapping.tick();
  }

  /** Taps categories that were registered since. */
  look(): void {
    this.#tapping.look();
  }

  /** Returns the lines since the last call. */
  fetch(): LineBatch {
    if (this.#lines.length === 0 && this.#dropped === 0) return NOTHING;
    const batch = { lines: this.#lines, dropped: this.#dropped };
    this.#lines = [];
    this.#waiting = 0;
    this.#dropped = 0;
    return batch;
  }

  /** What became of the calls, of the categories that had any. */
  get counts(): CountsByCategory {
    const counts = [...this.#tapping.counters].map(([name, counter]) => [name, counter.counts] as const);
    return Object.fromEntries(counts.filter(([, { calls, otherTenants }]) => calls + (otherTenants ?? 0) > 0));
  }

  end(): void {
    this.#tapping.end();
  }
}
