import { DROP, type DropCode } from '../../gate/drops.ts';
import { ANY_LEVEL } from '../../gate/levels.ts';
import type { CategoryDescriptor } from '../../gate/types.ts';
import type { DebugRecord } from '../../wire/debug-record.ts';
import { type Call, recordOf } from '../emit/record.ts';
import { Selection, type SelectionOptions } from '../emit/selection.ts';
import type { Tap } from '../emit/taps.ts';
import type { HeldOutput, RecordedPart, Recorder } from '../recorder/recorder.ts';
import { CallCounter } from './call-counter.ts';
import { type Line, type LineSource, lineOfRecord } from './line.ts';
import { LineRate } from './rate.ts';
import { type Counting, type Tapped, Tapping } from './tapping.ts';
import type { CountsByCategory, LineBatch, LineSpec } from './types.ts';

/** Most characters of lines that wait to be fetched, and of those that wait until recorded ones were read. */
const MAX_WAITING = 128 * 1024;
const MAX_WAITING_BEHIND = 1024 * 1024;

/** Most calls that are built in a second to see whether a filter passes them: they take some hundredths of a processor. */
const MAX_LOOKS = 5000;

const NOTHING: LineBatch = { lines: [], dropped: 0 };

export interface LineTapOptions extends Tapped, SelectionOptions, LineSource {
  readonly work: SelectionOptions['work'] & Counting['work'];
  readonly now: () => number;
  /** Keeps lines until the outcome of their work is known. */
  readonly recorder: Pick<Recorder, 'record'>;
}

/** Collects the lines of a tail in this process, within its rate and a bounded buffer. */
export class LineTap {
  readonly #options: LineTapOptions;
  readonly #rate: LineRate;
  /** Bounds the lines that are built to be filtered. */
  readonly #looks: LineRate;
  readonly #selection: Selection;
  readonly #tapping: Tapping;
  readonly #stops: (() => void)[] = [];
  readonly #counters = new Map<string, CallCounter>();
  readonly #maxWaiting: number;
  #lines: Line[] = [];
  #waiting = 0;
  #dropped = 0;
  /** While set, calls are only counted, as dropped: nothing of them is built, and `.enabled` is false. */
  suspended = false;

  /** @param ready called at the moment from which on it takes lines */
  constructor(options: LineTapOptions, spec: LineSpec, ready: () => void = () => {}) {
    const { categories, rate, log, since } = spec;
    this.#options = options;
    this.#rate = new LineRate(rate, categories);
    this.#looks = new LineRate(MAX_LOOKS, categories);
    this.#maxWaiting = since === undefined ? MAX_WAITING : MAX_WAITING_BEHIND;
    this.#selection = new Selection(spec, options, ready);
    if (!this.#selection.filtersLines) ready();
    const held = spec.when && { when: spec.when, write: this.#write };
    this.#tapping = new Tapping(options, categories, (category): Tap => {
      const { name } = category;
      const counter = new CallCounter(this.#selection, () => options.work.attributeNames());
      this.#counters.set(name, counter);
      if (held !== undefined) this.#stops.push(options.recorder.record(category, this.#recorded(counter, held)));
      return {
        logs: log,
        matches: (tenant) =>
          !this.suspended &&
          (held === undefined || options.work.outcomes.current() !== undefined) &&
          this.#selection.takesCall(tenant),
        missed: (tenant) => {
          if (!this.suspended || !this.#selection.takesCall(tenant)) counter.missed(tenant);
          else {
            counter.called();
            this.#dropped += 1;
          }
        },
        admits: () => {
          counter.called();
          // Recorded calls come once their work has ended.
          return held === undefined && this.#admits(name);
        },
        take: (_category, call) => {
          if (this.#passes(recordOf(call, this.#options.now()), counter)) this.#take(name, call);
        },
      };
    });
  }

  #admits(category: string): boolean {
    const rate = this.#selection.filtersLines ? this.#looks : this.#rate;
    if (this.#selection.hasTime) return this.#within(rate, category);
    this.#dropped += 1;
    return false;
  }

  #within(rate: LineRate, category: string): boolean {
    if (this.#waiting < this.#maxWaiting && rate.take(category)) return true;
    this.#dropped += 1;
    return false;
  }

  #passes(line: DebugRecord, counter: CallCounter): boolean {
    return !this.#selection.filtersLines || counter.takesLine(line);
  }

  #recorded(counter: CallCounter, output: HeldOutput): RecordedPart {
    return {
      isWhole: false,
      level: ANY_LEVEL,
      isOfTenant: (tenant) => !this.suspended && this.#selection.isOfTenant(tenant),
      isOfWork: (surroundings) => this.#selection.matches(surroundings),
      takesLine: this.#selection.filtersLines
        ? (line) => this.#selection.hasTime && this.#looks.take(line.category) && this.#passes(line, counter)
        : undefined,
      output,
    };
  }

  #take(name: string, call: Call): void {
    if (this.#selection.filtersLines && !this.#within(this.#rate, name)) return;
    this.#keep(call);
  }

  /** Takes a recorded call. */
  readonly #write = ({ name }: Pick<CategoryDescriptor, 'name'>, call: Call): DropCode | undefined => {
    if (!this.#within(this.#rate, name)) return DROP.budget;
    this.#keep(call);
    return undefined;
  };

  #keep(call: Call): void {
    const sent = lineOfRecord(recordOf(call, this.#options.now()), this.#options);
    this.#lines.push(sent);
    this.#waiting += sent.text.length;
  }

  /** Called at intervals. */
  tick(milliseconds: number): void {
    this.#rate.refill(milliseconds);
    this.#looks.refill(milliseconds);
    for (const counter of this.#counters.values()) counter.tick();
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
    const counts = [...this.#counters].map(([name, counter]) => [name, counter.counts] as const);
    return Object.fromEntries(counts.filter(([, { calls, otherTenants }]) => calls + (otherTenants ?? 0) > 0));
  }

  end(): void {
    this.#tapping.end();
    this.#selection.end();
    for (const stop of this.#stops) stop();
  }
}
