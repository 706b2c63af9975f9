import { hash } from 'node:crypto';
import { type CategoryLists, GONE_MS, type Instance, REWRITTEN_MS } from '../../store/fleet.ts';
import {
  type ListedCategory,
  MAX_LISTED,
  type OtherCategories,
  readCategoryList,
  writeCategoryList,
} from '../../wire/category-list.ts';
import type { DiscoveredSource } from '../../wire/messages.ts';

export interface FleetCategoriesOptions {
  readonly store: CategoryLists;
  /** Id of this process, which may change once the SDK is registered. */
  readonly selfId: () => string;
  /** The categories of this process; the same array until they change. */
  readonly own: () => readonly ListedCategory[];
  readonly sourceOf: (category: string) => DiscoveredSource | undefined;
  readonly malformed: () => void;
}

const MAX_PARTIAL = 100;

interface Published {
  readonly id: string;
  readonly categories: readonly ListedCategory[];
  readonly digest: string;
  readonly history: string | undefined;
  /** On the monotonic clock. */
  readonly at: number;
}

/** Publishes which categories this process has, and reads which the others have. */
export class FleetCategories {
  readonly #options: FleetCategoriesOptions;
  #published: Published | undefined;
  #announcedAt = Number.NEGATIVE_INFINITY;
  /** Names in the lists of running processes, by digest. */
  #lists: ReadonlyMap<string, ReadonlyMap<string, ListedCategory>> = new Map();
  #merged = '';
  #others: OtherCategories = { processes: 0, categories: new Map() };

  constructor(options: FleetCategoriesOptions) {
    this.#options = options;
  }

  get digest(): string | undefined {
    return this.#published?.digest;
  }

  /**
   * Called after each announcement: publishes the list if it changed, or if the store may have dropped it.
   * @param history of the store, which is new when it has lost its content
   * @param gone after how many milliseconds of silence this process is gone
   * @returns whether the digest changed, so that it must be announced
   */
  async announced(history: string | undefined, now: number, gone = GONE_MS): Promise<boolean> {
    const { store, selfId, own, sourceOf } = this.#options;
    const wasSilent = now - this.#announcedAt > gone;
    this.#announcedAt = now;
    const categories = own();
    const before = this.#published;
    const id = selfId();
    const isKept = !wasSilent && before?.id === id && before.history === history && now - before.at < REWRITTEN_MS;
    if (isKept && before.categories === categories) return false;
    const list = writeCategoryList(categories.map((category) => ({ ...category, source: sourceOf(category.name) })));
    const digest = digestOf(list);
    if (!isKept || before.digest !== digest) await store.publish(id, list);
    this.#published = { id, categories, digest, history, at: isKept ? before.at : now };
    return before?.digest !== digest;
  }

  /**
   * Reads the lists that are new among those of other processes.
   * @returns the categories of these processes; `undefined` if nothing changed since the last call
   */
  async read(others: readonly Instance[]): Promise<OtherCategories | undefined> {
    const wanted = new Map(others.flatMap(({ categoryDigest, id }) => (categoryDigest ? [[categoryDigest, id]] : [])));
    const missing = [...wanted].filter(([digest]) => !this.#lists.has(digest)).map(([, id]) => id);
    const lists = new Map([...this.#lists].filter(([digest]) => wanted.has(digest)));
    const found = missing.length === 0 ? undefined : await this.#options.store.read(missing);
    for (const text of found?.values() ?? []) {
      const categories = readCategoryList(text)?.map((category) => [category.name, category] as const);
      if (categories === undefined) this.#options.malformed();
      else lists.set(digestOf(text), new Map(categories));
    }
    this.#lists = lists;
    const known = others.filter(({ categoryDigest = '' }) => lists.has(categoryDigest)).sort(byId);
    const merged = known.map(({ categoryDigest }) => categoryDigest).join(' ');
    if (merged === this.#merged) return undefined;
    this.#merged = merged;
    this.#others = merge(known.map(({ categoryDigest = '' }) => lists.get(categoryDigest)!));
    return this.#others;
  }

  /** Whether a process has one of these categories. True while its list is not known. */
  has({ id, categoryDigest = '' }: Instance, names: readonly string[]): boolean {
    const { selfId, own } = this.#options;
    if (id === selfId()) return own().some(({ name }) => names.includes(name));
    const list = this.#lists.get(categoryDigest);
    return list === undefined || names.some((name) => list.has(name));
  }

  /** The categories of a process that not all processes have; `undefined` while its list is not known. */
  partial({ id, categoryDigest = '' }: Instance): readonly string[] | undefined {
    const { selfId, own } = this.#options;
    const ownNames = new Set(own().map(({ name }) => name));
    const names = id === selfId() ? ownNames : this.#lists.get(categoryDigest)?.keys();
    if (names === undefined || this.#others.processes === 0) return undefined;
    const { processes, categories } = this.#others;
    const having = (name: string) => (categories.get(name)?.having ?? 0) + Number(ownNames.has(name));
    return [...names].filter((name) => having(name) <= processes).slice(0, MAX_PARTIAL);
  }
}

/** Merges the lists of several processes. The first description of a category counts. */
function merge(lists: readonly ReadonlyMap<string, ListedCategory>[]): OtherCategories {
  const categories = new Map<string, ListedCategory & { having: number }>();
  for (const list of lists) {
    for (const [name, category] of list) {
      const known = categories.get(name);
      if (known !== undefined) known.having += 1;
      else if (categories.size < MAX_LISTED) categories.set(name, { ...category, having: 1 });
    }
  }
  return { processes: lists.length, categories };
}

function digestOf(list: string): string {
  return hash('sha256', list, 'base64url').slice(0, 16);
}

function byId(a: Instance, b: Instance): number {
  return a.id < b.id ? -1 : 1;
}
