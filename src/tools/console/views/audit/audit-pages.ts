import type { AuditFilter } from '../../../../client.ts';
import type { AuditEntry, AuditResponse } from '../../../../wire/audit-messages.ts';
import type { Problem } from '../../state/problem.ts';
import { isWanted, serverFilter, type Wanted } from './audit-filter.ts';
import { ChainCheck, type ChainState, type Digest } from './chain-check.ts';

/** Entries of one page. */
const PAGE = 200;

interface AuditPagesParts {
  readonly fetch: (filter: AuditFilter, signal: AbortSignal) => Promise<AuditResponse>;
  /** `undefined` where the browser has no hashes: on a page that came over plain HTTP from another host. */
  readonly digest: Digest | undefined;
  readonly problemOf: (error: unknown) => Problem;
  readonly changed: () => void;
}

/** The entries of one search, page by page. Another search is another object. */
export class AuditPages {
  readonly #parts: AuditPagesParts;
  readonly #wanted: Wanted;
  readonly #check: ChainCheck | undefined;
  readonly #controller = new AbortController();
  /** Everything that was loaded, newest first, also what the page's own filters leave out. */
  #loaded: readonly AuditEntry[] = [];
  #live: readonly AuditEntry[] = [];
  #hasPage = false;
  #next: string | undefined;
  isLoading = false;
  /** Whether the oldest entry is loaded. */
  isComplete = false;
  entries: readonly AuditEntry[] = [];
  chain: ChainState | undefined;
  problem: Problem | undefined;

  constructor(wanted: Wanted, parts: AuditPagesParts) {
    this.#wanted = wanted;
    this.#parts = parts;
    this.#check = parts.digest && new ChainCheck(parts.digest);
  }

  /** Entries that were loaded, also those that the page's own filters leave out. */
  get searched(): number {
    return this.#loaded.length;
  }

  close(): void {
    this.#controller.abort();
  }

  /** Loads the next older page. */
  async more(): Promise<void> {
    if (this.isComplete) return;
    await this.#load(this.#next, (page) => {
      this.#hasPage = true;
      this.#end(page);
      this.#take(merged(this.#loaded, page.entries));
      this.add(this.#live);
    });
  }

  /** Loads newer entries after a lost connection, whose events are not sent again. */
  async refresh(): Promise<void> {
    await this.#load(undefined, (page) => {
      const known = new Set(this.#loaded.map(({ id }) => id));
      if (page.entries.some(({ id }) => known.has(id))) {
        this.#take(merged(page.entries, this.#loaded));
        return;
      }
      this.#end(page);
      this.#take(page.entries);
    });
  }

  /** Entries of the event stream, newest first. */
  add(live: readonly AuditEntry[]): void {
    this.#live = live;
    // They come before the newest page, which may have them already.
    if (!this.#hasPage) return;
    const { who: _, text: __, ...asked } = this.#wanted;
    this.#take(merged(live.filter(isWanted(asked)), this.#loaded));
  }

  /** Notes where the next older page begins. */
  #end({ otelrdcp_next: next }: AuditResponse): void {
    this.#next = next;
    this.isComplete = next === undefined;
  }

  #take(loaded: readonly AuditEntry[]): void {
    if (this.#loaded.length === loaded.length && this.#loaded[0] === loaded[0]) return;
    this.#loaded = loaded;
    this.entries = loaded.filter(isWanted(this.#wanted));
    this.#parts.changed();
    void this.#check?.add(loaded).then((chain) => {
      this.chain = chain;
      this.#parts.changed();
    });
  }

  async #load(cursor: string | undefined, take: (page: AuditResponse) => void): Promise<void> {
    if (this.isLoading) return;
    this.isLoading = true;
    this.problem = undefined;
    this.#parts.changed();
    try {
      const filter = { ...serverFilter(this.#wanted), limit: PAGE, ...(cursor !== undefined && { cursor }) };
      take(await this.#parts.fetch(filter, this.#controller.signal));
    } catch (error) {
      if (!this.#controller.signal.aborted) this.problem = this.#parts.problemOf(error);
    } finally {
      this.isLoading = false;
      this.#parts.changed();
    }
  }
}

/** Newer and older entries, each once, where the older ones have it. */
function merged(newer: readonly AuditEntry[], older: readonly AuditEntry[]): readonly AuditEntry[] {
  const ids = new Set(older.map(({ id }) => id));
  return [...newer.filter(({ id }) => !ids.has(id)), ...older];
}
