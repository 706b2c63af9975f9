import { LRUCache } from 'lru-cache';
import type { AuditTrail } from '../../trail/types.ts';
import type { AuditEntry } from '../../wire/audit-messages.ts';
import { ALERT_USER } from '../../wire/constants.ts';
import { CHANGE_REFUSALS } from '../refusals.ts';

/** Entries of the trail in one page, in the first page of what is new, and pages that one question may read. */
const PAGE = 200;
const FIRST_PAGE = 20;
const MAX_PAGES = 50;
/** Groups of alerts whose last switch is remembered. */
const MAX_GROUPS = 10_000;

/**
 * What alerts switched last, by group, as the audit trail has it: for all processes that share the store, and after a
 * restart. An entry is read once.
 */
export class AlertHistory {
  readonly #trail: Pick<AuditTrail, 'query'>;
  readonly #switches = new LRUCache<string, AuditEntry>({ max: MAX_GROUPS });
  /** Id of the newest entry that was read. */
  #newest: string | undefined;
  /** Where older entries begin that were not read yet; `undefined` at the end of the trail. */
  #older: { readonly cursor: string; readonly before: number } | undefined;

  constructor(trail: Pick<AuditTrail, 'query'>) {
    this.#trail = trail;
  }

  /**
   * The newest entry of a group that is not older than `from`.
   * @throws {RdcpError} `RDCP_UNAVAILABLE` if more entries would have to be read than one question may
   */
  async last(groupId: string, from: number): Promise<AuditEntry | undefined> {
    let pages = MAX_PAGES - (await this.#readNew());
    while (!this.#switches.has(groupId) && this.#older !== undefined && this.#older.before >= from) {
      if (pages === 0) throw CHANGE_REFUSALS.longTrail();
      pages -= 1;
      await this.#readOlder(this.#older.cursor);
    }
    const entry = this.#switches.get(groupId);
    return entry !== undefined && Date.parse(entry.timestamp) >= from ? entry : undefined;
  }

  /** Reads what was written since the last question; the first time, the newest page. Returns the number of pages. */
  async #readNew(): Promise<number> {
    const known = this.#newest;
    const fresh: AuditEntry[] = [];
    let cursor: string | undefined;
    for (let pages = 1; ; pages += 1) {
      const limit = known !== undefined && pages === 1 ? FIRST_PAGE : PAGE;
      const { entries, next } = await this.#trail.query({ limit, ...(cursor !== undefined && { cursor }) });
      const end = entries.findIndex(({ id }) => id === known);
      fresh.push(...(end === -1 ? entries : entries.slice(0, end)));
      const isComplete = end !== -1 || next === undefined || known === undefined || pages === MAX_PAGES;
      if (!isComplete) {
        cursor = next;
        continue;
      }
      if (end === -1) {
        // What was read before may not be the newest any more, or is of a trail that is gone.
        this.#switches.clear();
        this.#readUntil(entries, next);
      }
      // The oldest first: the newest entry of a group stays.
      for (const entry of fresh.reverse()) this.#note(entry);
      this.#newest = fresh.at(-1)?.id ?? known;
      return pages;
    }
  }

  async #readOlder(cursor: string): Promise<void> {
    const { entries, next } = await this.#trail.query({ limit: PAGE, cursor });
    for (const entry of entries) if (!this.#switches.has(groupOf(entry) ?? '')) this.#note(entry);
    this.#readUntil(entries, next);
  }

  #readUntil(entries: readonly AuditEntry[], next: string | undefined): void {
    const oldest = entries.at(-1);
    this.#older =
      next === undefined || oldest === undefined ? undefined : { cursor: next, before: Date.parse(oldest.timestamp) };
  }

  #note(entry: AuditEntry): void {
    const group = groupOf(entry);
    if (group !== undefined) this.#switches.set(group, entry);
  }
}

/** The group of alerts for which an entry switched something; `undefined` for other entries. */
function groupOf({ identity, outcome, requestId }: AuditEntry): string | undefined {
  if (outcome !== 'success' || identity.userId?.startsWith(ALERT_USER) !== true) return undefined;
  return requestId?.split('.')[0];
}
