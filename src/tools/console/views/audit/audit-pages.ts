import type { AuditFilter } from '../../../../client.ts';
import type { AuditEntry, AuditResponse } from '../../../../wire/audit-messages.ts';
import type { Problem } from '../../state/problem.ts';
import { type AuditSearch, isWanted, serverFilter } from './audit-filter.ts';
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
  readonly #wanted: AuditSearch;
  readonly #check: ChainCheck | undefined;
  readonly #controller = new AbortController();
  /** Everything that was loaded, newest first, also what the page's own filters leave out. */
  #loaded: readonly AuditEntry[] = [];
  /** Where the next older page begins. */
  #next: string | undefined;
  /** Whether there were newer entries while a page was loaded. */
  #isStale = false;
  isLoading = false;
  /** Whether the oldest entry is loaded. */
  isComplete = false;
  entries: readonly AuditEntry[] = [];
  chain: ChainState | undefined;
  problem: Problem | undefined;

  constructor(wanted: AuditSearch, parts: AuditPagesParts) {
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
    if (!this.isComplete && !this.isLoading) await this.#load(this.#next);
  }

  /** Loads the newest entries again: there are others, or there may be after a lost connection. */
  async refresh(): Promise<void> {
    this.#isStale = this.isLoading;
    if (!this.isLoading) await this.#load(undefined);
  }

  async #load(cursor: string | undefined): Promise<void> {
    this.isLoading = true;
    this.problem = undefined;
    this.#parts.changed();
    try {
      const filter = { ...serverFilter(this.#wanted), limit: PAGE, ...(cursor !== undefined && { cursor }) };
      this.#take(await this.#parts.fetch(filter, this.#controller.signal), cursor !== undefined);
    } catch (error) {
      if (!this.#controller.signal.aborted) this.problem = this.#parts.problemOf(error);
    }
    this.isLoading = false;
    this.#parts.changed();
    if (this.#isStale) await this.refresh();
  }

  /** Puts an older page behind what is loaded. The newest one goes before it, or in its place where some are missing between them. */
  #take({ entries, otelrdcp_next: next }: AuditResponse, isOlder: boolean): void {
    const known = new Set(this.#loaded.map(({ id }) => id));
    const isJoined = entries.some(({ id }) => known.has(id));
    const fresh = entries.filter(({ id }) => !known.has(id));
    if (isOlder || !isJoined) {
      this.#next = next;
      this.isComplete = next === undefined;
    }
    this.#loaded = isOlder ? [...this.#loaded, ...fresh] : isJoined ? [...fresh, ...this.#loaded] : entries;
    this.entries = this.#loaded.filter(isWanted(this.#wanted));
    void this.#check?.add(this.#loaded).then((chain) => {
      this.chain = chain;
      this.#parts.changed();
    });
  }
}
