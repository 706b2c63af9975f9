import type { AuditFilter } from '../../../../client.ts';
import type { AuditEntry, AuditResponse } from '../../../../wire/audit-messages.ts';
import type { Problem } from '../../state/problem.ts';
import { isWanted, serverFilter, type Wanted } from './audit-filter.ts';
import { ChainCheck, type ChainState, type Digest } from './chain-check.ts';

/** Entries of one page. */
const PAGE = 200;
/** Pages that are read in a row while the page's own filters find nothing new. */
const MAX_SEARCHED_PAGES = 10;

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
  readonly #isWanted: (entry: AuditEntry) => boolean;
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
    this.#isWanted = isWanted(wanted);
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

  /** Loads the next page, and further ones until the page's own filters have found something. */
  async more(): Promise<void> {
    if (this.isLoading || this.isComplete) return;
    const before = this.entries.length;
    await this.#load(async () => {
      for (let pages = 0; pages < MAX_SEARCHED_PAGES && !this.isComplete; pages++) {
        const page = await this.#page(this.#next);
        this.#end(page);
        this.#take(merged(this.#loaded, page.entries, 'after'));
        this.#hasPage = true;
        this.add(this.#live);
        if (this.entries.length > before) return;
      }
    });
  }

  /** Loads newer entries after a lost connection, whose events are not sent again. */
  async refresh(): Promise<void> {
    if (this.isLoading) return;
    await this.#load(async () => {
      const page = await this.#page(undefined);
      if (this.#loaded.length > 0 && overlaps(this.#loaded, page.entries)) {
        this.#take(merged(this.#loaded, page.entries, 'before'));
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
    const all = merged(this.#loaded, live.filter(isWanted(asked)), 'before');
    if (all !== this.#loaded) this.#take(all);
  }

  #page(cursor: string | undefined): Promise<AuditResponse> {
    const filter = { ...serverFilter(this.#wanted), limit: PAGE, ...(cursor !== undefined && { cursor }) };
    return this.#parts.fetch(filter, this.#controller.signal);
  }

  /** Notes where the next older page begins. */
  #end({ otelrdcp_next: next }: AuditResponse): void {
    this.#next = next;
    this.isComplete = next === undefined;
  }

  #take(loaded: readonly AuditEntry[]): void {
    this.#loaded = loaded;
    this.entries = loaded.filter(this.#isWanted);
    this.#parts.changed();
    void this.#check?.add(loaded).then((chain) => {
      this.chain = chain;
      this.#parts.changed();
    });
  }

  async #load(run: () => Promise<void>): Promise<void> {
    this.isLoading = true;
    this.problem = undefined;
    this.#parts.changed();
    try {
      await run();
    } catch (error) {
      if (!this.#controller.signal.aborted) this.problem = this.#parts.problemOf(error);
    } finally {
      this.isLoading = false;
      this.#parts.changed();
    }
  }
}

/** Puts entries before or behind those that are known, each once. */
function merged(
  known: readonly AuditEntry[],
  more: readonly AuditEntry[],
  where: 'before' | 'after',
): readonly AuditEntry[] {
  const ids = new Set(known.map(({ id }) => id));
  const fresh = more.filter(({ id }) => !ids.has(id));
  if (fresh.length === 0) return known;
  return where === 'before' ? [...fresh, ...known] : [...known, ...fresh];
}

/** Whether nothing lies between the known entries and newer ones. */
function overlaps(known: readonly AuditEntry[], newer: readonly AuditEntry[]): boolean {
  const ids = new Set(known.map(({ id }) => id));
  return newer.some(({ id }) => ids.has(id));
}
