import { isDeepStrictEqual } from 'node:util';
import { parseAuditEntry } from '../wire/audit-entry.ts';
import type { AuditEntry } from '../wire/audit-messages.ts';
import { LATEST_INSTANT, timestamp } from '../wire/time.ts';
import { countedPosition, type Hit, inBatches, pageOf } from './audit-query.ts';
import { type Placed, prune } from './prune-plan.ts';
import type { Row } from './sql-rows.ts';
import type { AuditPage, AuditQuery, StateStore } from './state-store.ts';

/** The SQL condition of each filter of a query, with `?` for its value. */
export type Conditions = Readonly<Record<Exclude<keyof AuditQuery, 'limit' | 'cursor'>, string>>;

/** Conditions that are combined with AND, and their values. */
export interface Filter {
  readonly conditions: readonly string[];
  readonly values: readonly (string | number)[];
}

/** Positions from `begin`, up to but without `before`, of which the newest are read. */
export interface Range {
  readonly before: number;
  readonly begin: number;
  readonly limit: number;
}

/** The table `audit` of a database. Rows have the columns of an entry, with instants in milliseconds that a Date can hold. */
export interface AuditTable {
  readonly conditions: Conditions;
  /** Positions searched, and entries read, by one statement. */
  readonly searchedAtOnce: number;
  readonly readAtOnce: number;
  /** The row of the newest entry. */
  newest(): Promise<Row | undefined>;
  /** Position of the newest entry before another. */
  newestBefore(position: number): Promise<unknown>;
  /** Returns a function that reads the matching rows of a range, newest first. */
  search(filter: Filter): (range: Range) => Promise<readonly Row[]>;
  /** Reads `readAtOnce` rows after a position, oldest first. */
  readAfter(position: number): Promise<readonly Row[]>;
  /** Whether the retention of any entry has ended. */
  hasEnded(now: number): Promise<boolean>;
  drop(positions: readonly number[]): Promise<number>;
}

/** The trail in a table of a database. Searches run in slices, so that no statement searches everything. */
export class SqlTrail {
  readonly #table: AuditTable;

  constructor(table: AuditTable) {
    this.#table = table;
  }

  async page(query: AuditQuery): Promise<AuditPage> {
    const from = query.cursor === undefined ? Number.MAX_SAFE_INTEGER : countedPosition(query.cursor);
    return pageOf({ found: this.#search(query, from), limit: query.limit });
  }

  async newest(): Promise<AuditEntry | undefined> {
    const row = await this.#table.newest();
    return row && entryOf(row);
  }

  async prune(...given: Parameters<StateStore['pruneAudit']>): Promise<number> {
    if (!(await this.#table.hasEnded(given[0]))) return 0;
    return prune({ batches: () => this.#batches(), drop: (places) => this.#table.drop(places) }, ...given);
  }

  /** Newest first. */
  async *#search(query: AuditQuery, from: number): AsyncGenerator<Hit> {
    const { conditions, searchedAtOnce, readAtOnce, newestBefore, search } = this.#table;
    const readRows = search(filterOf(query, conditions));
    for (let before = from; ; ) {
      // Positions may be far apart.
      const newest = await newestBefore(before);
      if (newest === null || newest === undefined) return;
      const begin = Number(newest) + 1 - searchedAtOnce;
      const read = async (end: string, limit: number) => {
        const rows = await readRows({ before: Number(end), begin, limit });
        return rows.map((row) => ({
          position: String(row.position),
          entry: entryOf(row),
          bytes: String(row.entry).length,
        }));
      };
      yield* inBatches(read, String(Number(newest) + 1), readAtOnce);
      before = begin;
    }
  }

  /** Oldest first. */
  async *#batches(): AsyncGenerator<readonly Placed<number>[]> {
    const { readAtOnce, readAfter } = this.#table;
    for (let last = 0; ; ) {
      const rows = await readAfter(last);
      yield rows.map((row) => ({ place: Number(row.position), entry: parsed(row) }));
      if (rows.length < readAtOnce) return;
      last = Number(rows.at(-1)?.position);
    }
  }
}

function filterOf(query: AuditQuery, conditions: Conditions): Filter {
  const names = (Object.keys(conditions) as (keyof Conditions)[]).filter((name) => query[name] !== undefined);
  return { conditions: names.map((name) => conditions[name]), values: names.map((name) => query[name]!) };
}

function parsed({ position, at, entry }: Row): AuditEntry {
  return parseAuditEntry(String(entry), () => ({ id: `position-${position}`, timestamp: timestamp(Number(at)) }));
}

/** The columns repeat the entry. When they disagree, one was altered, and the entry is returned without a valid hash. */
function entryOf(row: Row): AuditEntry {
  const entry = parsed(row);
  const { action, outcome, identity, tenant, categories, compliance } = entry;
  const columns = [action, outcome, identity.clientId, tenant?.id].map(asColumn);
  const kept = new Set(JSON.parse(String(row.categories ?? '[]')));
  const agrees =
    isDeepStrictEqual([row.action, row.outcome, row.client, row.tenant], columns) &&
    isDeepStrictEqual(kept, new Set(categories.map(asColumn))) &&
    isInstant(row.at, entry.timestamp) &&
    isInstant(row.retain_until, compliance.retainUntil);
  return agrees ? entry : { ...entry, compliance: { ...compliance, hash: '' } };
}

/** A text of PostgreSQL has no NUL. */
function asColumn(text: string | undefined): string | null {
  return text?.replaceAll('\0', '') ?? null;
}

/** A time of PostgreSQL after the year 9999 is infinite. */
function isInstant(column: unknown, text: string): boolean {
  return Number(column) === Date.parse(text) || (Number(column) === LATEST_INSTANT && !/^\d{4}-/.test(text));
}
