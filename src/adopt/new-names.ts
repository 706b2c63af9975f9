import { escapeUnprintable } from '../wire/printable.ts';
import { APPLICATION } from './loggers.ts';

/** More new names than this within the time, in milliseconds, look like data, such as the ids of users. */
const MAX_NEW_NAMES = 256;
const NEW_NAMES_TIME = 60_000;

/** The new names below one parent. */
interface Family {
  since: number;
  count: number;
  /** Whether the names look like data: further ones belong to the parent. */
  isData: boolean;
}

/** Recognizes names of loggers that are made from data. */
export class NewNames {
  /** Keyed by the name of the parent. */
  readonly #families = new Map<string, Family>();
  /** The parents that are only a part of a name, as in `REQUEST-ID:sql`: they may be data as well. */
  readonly #parts: Family = { since: Number.NEGATIVE_INFINITY, count: 0, isData: false };
  readonly #warn: (message: string) => void;
  readonly #now: () => number;

  /** @param now milliseconds of a clock that never goes back */
  constructor(warn: (message: string) => void, now: () => number) {
    this.#warn = warn;
    this.#now = now;
  }

  /**
   * Counts a new name. Returns the name of the logger whose category it belongs to, if it looks like data.
   * @param isPart whether the parent is a part of the name
   */
  add(parent: string, isPart: boolean): string | undefined {
    const known = this.#families.get(parent);
    const hasNewPart = known === undefined && isPart;
    if (hasNewPart && this.#count(this.#parts, 'with different prefixes', APPLICATION)) return APPLICATION;
    return this.#count(known ?? this.#found(parent), `below ${escapeUnprintable(parent)}`, parent) ? parent : undefined;
  }

  #found(parent: string): Family {
    if (this.#families.size >= MAX_NEW_NAMES) {
      const oldest = [...this.#families].find(([, { isData }]) => !isData)?.[0];
      if (oldest !== undefined) this.#families.delete(oldest);
    }
    const family = { since: this.#now(), count: 0, isData: false };
    this.#families.set(parent, family);
    return family;
  }

  #count(family: Family, which: string, category: string): boolean {
    if (family.isData) return true;
    const now = this.#now();
    if (now - family.since > NEW_NAMES_TIME) Object.assign(family, { since: now, count: 0 });
    family.count += 1;
    if (family.count <= MAX_NEW_NAMES) return false;
    family.isData = true;
    this.#warn(
      `adopt: ${MAX_NEW_NAMES} loggers ${which} had new names within a minute, as if made from data: further ones belong to the category of ${escapeUnprintable(category)}`,
    );
    return true;
  }
}
