import { context } from '@opentelemetry/api';
import type { Work, WorkContext } from '../../gate/work.ts';
import { allowing } from '../../wire/names.ts';
import { isHidden, type Redaction, shown } from '../../wire/redaction.ts';
import type { Match } from '../../wire/target.ts';
import { attributeOfWork, isSettled, type Surroundings } from './attributes.ts';

/** How what redaction writes begins. */
const REDACTED = '[';

/** Something that is for the work with some attributes. */
interface Entry<T> {
  readonly item: T;
  /** The condition by which it is found. */
  readonly name: string;
  readonly value: string;
  /** The other ones, all of which must hold too. */
  readonly others: readonly (readonly [name: string, value: string])[];
}

/** Entries by the name of an attribute. */
interface AttributeEntries<T> {
  /** By value. */
  readonly exact: Map<string, Entry<T>[]>;
  /** Prefixes, and values that redaction may have written. */
  readonly tested: Entry<T>[];
}

/** What was decided for a piece of work, for as long as its attributes stay as they are. */
interface Decision<T> {
  readonly changes: number;
  readonly items: readonly T[];
}

export interface MatchingOptions {
  readonly work: WorkContext;
  readonly redaction: Redaction;
  /** Follows the HTTP requests of the process until the returned function is called. */
  readonly followRequests: () => () => void;
}

/**
 * Finds what is for the current work, by name and value of its attributes. Decides once for each piece of work, and again when its
 * attributes are set or items are added or removed. What depends on a route, baggage, a span or a ticket is decided in each call: these
 * may change while the work goes on.
 */
export class Matching<T> {
  readonly #options: MatchingOptions;
  readonly #always = new Set<T>();
  /** The same as a list, until one is added or removed. */
  #alwaysItems: readonly T[] | undefined;
  readonly #entries = new Set<Entry<T>>();
  /** `undefined` until it is built from the entries. */
  #byName: ReadonlyMap<string, AttributeEntries<T>> | undefined;
  #decisions = new WeakMap<Work, Decision<T>>();

  constructor(options: MatchingOptions) {
    this.#options = options;
  }

  /**
   * @param match `undefined` for all work
   * @returns a function that removes it
   */
  add(match: Match | undefined, item: T): () => void {
    const unfollow = match && this.#options.followRequests();
    const [first, ...others] = Object.entries(match ?? {});
    const entry = first && { item, name: first[0], value: first[1], others };
    if (entry === undefined) this.#always.add(item);
    // A value that redaction hides could be guessed.
    else if (!Object.keys(match ?? {}).some((name) => isHidden(name, this.#options.redaction)))
      this.#entries.add(entry);
    this.#forget();
    return () => {
      if (entry === undefined) this.#always.delete(item);
      else this.#entries.delete(entry);
      this.#forget();
      unfollow?.();
    };
  }

  /** The items that are for the current work. */
  current(): readonly T[] {
    if (this.#entries.size === 0) {
      this.#alwaysItems ??= [...this.#always];
      return this.#alwaysItems;
    }
    const work = this.#options.work.current();
    const known = work && this.#decisions.get(work);
    if (known !== undefined && known.changes === work?.changes) return known.items;
    return this.of({ work, active: context.active() });
  }

  /** The items that are for some work, as its attributes are now. */
  of({ work, active }: Surroundings): readonly T[] {
    const { redaction } = this.#options;
    const items = [...this.#always];
    this.#byName ??= byName(this.#entries);
    let settled = true;
    const attribute = (name: string) => {
      settled &&= work !== undefined && isSettled(work, name);
      return attributeOfWork({ work, active }, name);
    };
    for (const [name, named] of this.#byName) {
      const actual = attribute(name);
      if (actual === undefined) continue;
      for (const { item, value, others } of [...(named.exact.get(actual) ?? []), ...named.tested]) {
        const isFor =
          holds(actual, value, redaction) &&
          others.every(([other, wanted]) => holds(attribute(other), wanted, redaction));
        if (isFor) items.push(item);
      }
    }
    if (settled && work !== undefined) this.#decisions.set(work, { changes: work.changes, items });
    return items;
  }

  #forget(): void {
    this.#alwaysItems = undefined;
    this.#byName = undefined;
    this.#decisions = new WeakMap();
  }
}

/** Compares an attribute as a line would show it: what is redacted cannot be guessed by matching its beginning. */
export function holds(actual: string | undefined, wanted: string, redaction: Redaction): boolean {
  if (actual === undefined) return false;
  // Redacting takes a microsecond. Only what it writes can match where the attribute itself does not.
  const allows = allowing(wanted);
  return (allows(actual) || wanted.includes(REDACTED)) && allows(shown(actual, redaction));
}

function byName<T>(entries: Iterable<Entry<T>>): Map<string, AttributeEntries<T>> {
  const found = new Map<string, AttributeEntries<T>>();
  for (const entry of entries) {
    const { name, value } = entry;
    const named: AttributeEntries<T> = found.get(name) ?? { exact: new Map(), tested: [] };
    found.set(name, named);
    if (value.endsWith('*') || value.includes(REDACTED)) named.tested.push(entry);
    else named.exact.set(value, [...(named.exact.get(value) ?? []), entry]);
  }
  return found;
}
