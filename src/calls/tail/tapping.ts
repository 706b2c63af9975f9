import type { DropCode } from '../../gate/drops.ts';
import { ANY_LEVEL } from '../../gate/levels.ts';
import type { CategoryDescriptor, Gate } from '../../gate/types.ts';
import type { When } from '../../wire/target.ts';
import type { Call } from '../emit/record.ts';
import { Selection, type SelectionOptions } from '../emit/selection.ts';
import type { Tap } from '../emit/taps.ts';
import type { Recorder } from '../recorder/recorder.ts';
import { CallCounter } from './call-counter.ts';
import type { TapFilter } from './types.ts';

/** The parts of a process that taps need. */
export interface TappingOptions extends SelectionOptions {
  readonly gate: Pick<Gate, 'categories'>;
  readonly addTap: (category: CategoryDescriptor, tap: Tap) => () => void;
  readonly work: SelectionOptions['work'] & { attributeNames(): Iterable<string> };
  readonly now: () => number;
  /** Keeps calls until the outcome of their work is known. */
  readonly recorder: Pick<Recorder, 'record'>;
}

/** What happens to the calls of one category that are of the filter's tenants and work. */
export interface Taker extends Pick<Tap, 'logs' | 'admits'> {
  take(call: Call): void;
  /** Takes a recorded call, whose work has ended as asked for. @returns why it was dropped */
  write(call: Call): DropCode | undefined;
  /** Whether one more recorded line is filtered. @default always */
  looks?(): boolean;
  /** Called for a call that is only counted, because taps are suspended. */
  lost?(): void;
}

/** Taps on categories by name, including those that are registered later. Counts what becomes of their calls. */
export class Tapping {
  /** By the category's name. */
  readonly counters = new Map<string, CallCounter>();
  /** While set, calls are only counted: nothing of them is built, and `.enabled` is false. */
  suspended = false;
  readonly #options: TappingOptions;
  readonly #filter: TapFilter;
  readonly #selection: Selection;
  readonly #takerOf: (category: string, counter: CallCounter, selection: Selection) => Taker;
  readonly #missing: Set<string>;
  readonly #taps: (() => void)[] = [];
  readonly #recordings: (() => void)[] = [];
  #seen = 0;

  /** @param ready called at the moment from which on it takes lines */
  constructor(
    options: TappingOptions,
    filter: TapFilter,
    takerOf: (category: string, counter: CallCounter, selection: Selection) => Taker,
    ready: () => void = () => {},
  ) {
    this.#options = options;
    this.#filter = filter;
    this.#takerOf = takerOf;
    this.#missing = new Set(filter.categories);
    this.#selection = new Selection(filter, options, ready);
    if (!this.#selection.filtersLines) ready();
    this.look();
  }

  /** Called at intervals. */
  tick(): void {
    for (const counter of this.counters.values()) counter.tick();
  }

  /** Taps what was registered since. */
  look(): void {
    const categories = this.#options.gate.categories();
    for (; this.#seen < categories.length; this.#seen++) {
      const category = categories[this.#seen]!;
      if (this.#missing.delete(category.name)) this.#tap(category);
    }
  }

  end(): void {
    for (const remove of this.#taps.splice(0)) remove();
    this.#missing.clear();
    this.#selection.end();
    for (const stop of this.#recordings) stop();
  }

  #tap(category: CategoryDescriptor): void {
    const { addTap, work } = this.#options;
    const { when } = this.#filter;
    const selection = this.#selection;
    const counter = new CallCounter(selection, () => work.attributeNames());
    const taker = this.#takerOf(category.name, counter, selection);
    this.counters.set(category.name, counter);
    if (when !== undefined) this.#record(category, { when, counter, taker });
    const tap: Tap = {
      logs: taker.logs === true,
      matches: (tenant) =>
        !this.suspended && (when === undefined || work.outcomes.current() !== undefined) && selection.takesCall(tenant),
      missed: (tenant) => {
        if (!this.suspended || !selection.takesCall(tenant)) counter.missed(tenant);
        else {
          counter.called();
          taker.lost?.();
        }
      },
      admits: () => {
        counter.called();
        // Recorded calls come once their work has ended.
        return when === undefined && taker.admits();
      },
      take: (_category, call) => taker.take(call),
    };
    this.#taps.push(addTap(category, tap));
  }

  #record(
    category: CategoryDescriptor,
    { when, counter, taker }: { readonly when: When; readonly counter: CallCounter; readonly taker: Taker },
  ): void {
    const selection = this.#selection;
    const stop = this.#options.recorder.record(category, {
      isWhole: false,
      level: ANY_LEVEL,
      isOfTenant: (tenant) => !this.suspended && selection.isOfTenant(tenant),
      isOfWork: (surroundings) => selection.matches(surroundings),
      takesLine: selection.filtersLines
        ? (line) => selection.hasTime && taker.looks?.() !== false && counter.takesLine(line)
        : undefined,
      output: { when, write: (_category, call) => taker.write(call) },
    });
    this.#recordings.push(stop);
  }
}
