import type { DebugRecord } from '../../wire/debug-record.ts';
import { compileLineFilter, type LinePredicate, type Unevaluated } from '../../wire/line-filter.ts';
import { matchesAny } from '../../wire/names.ts';
import type { LineFilter, Match, When } from '../../wire/target.ts';
import type { Clock } from '../../wire/time/clock.ts';
import type { Surroundings } from '../work/attributes.ts';
import type { WorkOutcomes } from '../work/outcomes.ts';

/** A part of the calls of a category. */
export interface Part {
  /** Calls of this tenant alone. @default all calls */
  readonly tenantId?: string | undefined;
  /** Calls of tenants with these ids, or prefixes with `*`, alone. @default all calls */
  readonly tenants?: readonly string[] | undefined;
  /** Calls of work with these attributes alone. @default all calls */
  readonly match?: Match | undefined;
  /** Lines that pass it alone. @default all lines */
  readonly filter?: LineFilter | undefined;
  /** Calls of work that ends so alone, which are recorded until it does. @default all calls, at once */
  readonly when?: When | undefined;
}

/** Whether calls of a tenant belong to a part. */
export function takesTenant({ tenantId, tenants }: Part, of: string | undefined): boolean {
  if (tenantId !== undefined && tenantId !== of) return false;
  return tenants === undefined || (of !== undefined && matchesAny(tenants, of));
}

/** Time that a filter may take in a second, in milliseconds. A line that took longer is made up for by the next ones. */
const MAX_TIME = 50;

/** Finds what is for the current work, by its attributes. */
export interface Matching<T> {
  /** @returns a function that removes it */
  add(match: Match | undefined, item: T): () => void;
  current(): readonly T[];
  of(surroundings: Surroundings): readonly T[];
}

export interface SelectionOptions {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly instanceId: string;
  readonly work: {
    matching<T>(): Matching<T>;
    /** How work ends. */
    readonly outcomes: Pick<WorkOutcomes, 'current' | 'currentWork' | 'latest' | 'watch'>;
  };
  /** Returns a number from 0 to 1. */
  readonly random: () => number;
}

/** Decides which calls belong to a part. */
export class Selection {
  /** Whether lines have to be built to know whether they belong to it. */
  readonly filtersLines: boolean;
  readonly #clock: Pick<Clock, 'monotonic'>;
  #timeLeft = MAX_TIME;
  /** When time was last added, on the monotonic clock. */
  #refilledAt: number;
  readonly #instanceId: string;
  readonly #part: Part;
  /** `undefined` where all work matches. */
  readonly #matching: Matching<Selection> | undefined;
  readonly #unmatch: (() => void) | undefined;
  /** `undefined` until it is compiled: no line belongs to it until then. */
  #predicate: LinePredicate | undefined;
  /** Lines for which the expression of the filter could not be evaluated. */
  unevaluated = 0;

  /** @param ready called when lines can be filtered, once, and later */
  constructor(part: Part, { clock, instanceId, work, random }: SelectionOptions, ready: () => void = () => {}) {
    this.#clock = clock;
    this.#refilledAt = clock.monotonic();
    this.#instanceId = instanceId;
    const { match, filter } = part;
    this.#part = part;
    this.#matching = match && work.matching();
    this.#unmatch = this.#matching?.add(match, this);
    this.filtersLines = filter !== undefined;
    if (filter === undefined) return;
    // The process that was asked has checked the filter; another release may not understand it, and gives no line.
    compileLineFilter(filter, random).then(
      (predicate) => {
        this.#predicate = predicate;
        ready();
      },
      () => undefined,
    );
  }

  /** Asked before anything of a call is built. */
  takesCall(tenantId: string | undefined): boolean {
    return this.isOfTenant(tenantId) && this.matchesWork;
  }

  isOfTenant(tenantId: string | undefined): boolean {
    return takesTenant(this.#part, tenantId);
  }

  /** Whether the current work has the attributes. */
  get matchesWork(): boolean {
    return this.#matching === undefined || this.#matching.current().length > 0;
  }

  /** The same of some work, as its attributes are now. */
  matches(surroundings: Surroundings): boolean {
    return this.#matching === undefined || this.#matching.of(surroundings).length > 0;
  }

  /** Whether the filter may take time now. */
  get hasTime(): boolean {
    if (!this.filtersLines) return true;
    const now = this.#clock.monotonic();
    this.#timeLeft = Math.min(MAX_TIME, this.#timeLeft + ((now - this.#refilledAt) * MAX_TIME) / 1000);
    this.#refilledAt = now;
    return this.#timeLeft > 0;
  }

  takesLine(line: DebugRecord): boolean {
    const verdict = this.judge(line);
    if (typeof verdict !== 'boolean') this.unevaluated += 1;
    return verdict === true;
  }

  judge(line: DebugRecord): boolean | Unevaluated {
    if (!this.filtersLines) return true;
    const began = this.#clock.monotonic();
    const verdict = this.#predicate === undefined ? false : this.#predicate(line, this.#instanceId);
    this.#timeLeft -= this.#clock.monotonic() - began;
    return verdict;
  }

  end(): void {
    this.#unmatch?.();
  }
}
