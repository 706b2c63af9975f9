import type { DatabaseSync, SQLInputValue, SQLOutputValue } from 'node:sqlite';
import { parseAuditEntry } from '../protocol/audit-entry.ts';
import type { AuditEntry } from '../protocol/audit-messages.ts';
import { LATEST_INSTANT, timestamp } from '../protocol/time.ts';
import { COUNTED_POSITION, decodeCursor, encodeCursor, PAGE_BYTES } from './audit-query.ts';
import { type DroppedHead, type Placed, planPrune } from './prune-plan.ts';
import { isBusy } from './sqlite-file.ts';
import type { AuditPage, AuditQuery } from './state-store.ts';

/** Entries dropped per transaction and turn of the event loop: a few milliseconds. */
const DROPPED_AT_ONCE = 200;
/** A prune pauses for this many times its working time, so that other writers mostly find the file unlocked. */
const REST = 3;
/** Shortest pause in milliseconds, also after meeting another process's lock. */
const SHORTEST_REST_MS = 5;
/**
 * Positions scanned and entries read per turn of the event loop: less than a millisecond each, some more from a cold
 * disk.
 */
const SCANNED_AT_ONCE = 2_000;
const READ_AT_ONCE = 50;
const BYTES_AT_ONCE = 256 * 1024;

/**
 * The trail in the database of a SQLite store. The index `audit_filter` holds every filtered column in the order of
 * writing, so that searching a million entries takes a tenth of a second with any filter. Searches run in slices, so
 * that the event loop continues.
 * @param limit entries kept; the oldest are dropped in batches beyond that. @default unlimited
 */
export function createSqliteTrail(database: DatabaseSync, limit?: number) {
  const insert = database.prepare(
    'INSERT INTO audit (at, action, outcome, client, tenant, retain_until, entry) VALUES (?, ?, ?, ?, ?, ?, ?)',
  );
  const insertCategory = database.prepare('INSERT OR IGNORE INTO audit_category (position, category) VALUES (?, ?)');
  const columns = `position, ${instant('at')}, action, outcome, client, tenant, ${instant('retain_until')}, entry, (
    SELECT json_group_array(category) FROM audit_category WHERE audit_category.position = audit.position
  ) AS categories`;
  const read = database.prepare(`SELECT ${columns} FROM audit WHERE position = ?`);
  const newest = database.prepare(`SELECT ${columns} FROM audit ORDER BY position DESC LIMIT 1`);
  const ends = database.prepare(
    'SELECT (SELECT min(position) FROM audit) AS oldest, (SELECT max(position) FROM audit) AS newest',
  );
  const findEnded = database.prepare('SELECT 1 FROM audit WHERE retain_until <= ? LIMIT 1');
  const readFrom = database.prepare(
    `SELECT position, ${instant('at')}, entry FROM audit WHERE position > ? ORDER BY position LIMIT ${READ_AT_ONCE}`,
  );
  const drop = database.prepare('DELETE FROM audit WHERE position IN (SELECT value FROM json_each(?))');
  const dropBefore = database.prepare('DELETE FROM audit WHERE position <= ?');
  let turn: Promise<unknown> = Promise.resolve();

  /** Resolves in a later turn of the event loop, a separate one for each caller. */
  function nextTurn(): Promise<unknown> {
    turn = turn.then(() => new Promise(setImmediate));
    return turn;
  }

  /** Drops one batch; returns the count, or `undefined` when another process holds the lock. */
  function dropSome(positions: readonly number[]): number | undefined {
    try {
      return Number(drop.run(JSON.stringify(positions)).changes);
    } catch (error) {
      if (!isBusy(error)) throw error;
      return undefined;
    }
  }

  /** Oldest first; ends early when the database is closed. */
  async function* batches(): AsyncGenerator<readonly Placed<number>[]> {
    for (let last = 0; database.isOpen; ) {
      const began = performance.now();
      const rows = readFrom.all(last);
      yield rows.map((row) => ({ place: Number(row.position), entry: parsedEntry(row) }));
      if (rows.length < READ_AT_ONCE) return;
      last = Number(rows.at(-1)?.position);
      await restAfter(began);
    }
  }

  /** Positions of the newest matching entries; one more than the page holds, if there are more. */
  async function find(query: AuditQuery): Promise<number[]> {
    const found: number[] = [];
    const { oldest, newest } = numbers(ends.get());
    const before = query.cursor === undefined ? newest + 1 : Number(decodeCursor(query.cursor, COUNTED_POSITION));
    let end = Math.min(before, newest + 1);
    const { conditions, values } = filter(query);
    const scan = database.prepare(
      `SELECT position FROM audit INDEXED BY audit_filter WHERE position < ? AND position >= ? ${conditions}
       ORDER BY position DESC LIMIT ?`,
    );
    for (;;) {
      const start = Math.max(oldest, end - SCANNED_AT_ONCE);
      const rows = scan.all(end, start, ...values, query.limit + 1 - found.length);
      for (const { position } of rows) found.push(Number(position));
      if (start <= oldest || found.length > query.limit) return found;
      end = start;
      await nextTurn();
    }
  }

  return {
    /** Runs within the caller's transaction. */
    append(entry: AuditEntry): void {
      const { lastInsertRowid } = insert.run(
        Date.parse(entry.timestamp),
        entry.action,
        entry.outcome,
        entry.identity.clientId ?? null,
        entry.tenant?.id ?? null,
        Date.parse(entry.compliance.retainUntil),
        JSON.stringify(entry),
      );
      for (const category of entry.categories) insertCategory.run(lastInsertRowid, category);
      if (limit !== undefined && Number(lastInsertRowid) % DROPPED_AT_ONCE === 0) {
        dropBefore.run(Number(lastInsertRowid) - limit);
      }
    },

    async page(query: AuditQuery): Promise<AuditPage> {
      const found = await find(query);
      const entries: AuditEntry[] = [];
      let last = found[0] ?? 0;
      let bytes = 0;
      for (let index = 0, readBefore = 0, bytesBefore = 0; index < found.length; index++) {
        // One match beyond the page shows that there is a next page.
        if (index === query.limit) return { entries, next: encodeCursor(String(last)) };
        const position = found[index] as number;
        const row = read.get(position);
        // The entry may have been pruned meanwhile.
        if (row !== undefined) {
          const size = String(row.entry).length;
          if (entries.length > 0 && bytes + size > PAGE_BYTES) return { entries, next: encodeCursor(String(last)) };
          entries.push(entryOf(row));
          bytes += size;
        }
        last = position;
        if (index - readBefore < READ_AT_ONCE && bytes - bytesBefore < BYTES_AT_ONCE) continue;
        readBefore = index;
        bytesBefore = bytes;
        await nextTurn();
      }
      return { entries };
    },

    newest(): AuditEntry | undefined {
      const row = newest.get();
      return row && entryOf(row);
    },

    /** Ends early when the database is closed. */
    async prune(
      now: number,
      starting: (dropped: readonly DroppedHead[]) => Promise<boolean>,
      mayDrop: (entry: AuditEntry) => boolean,
    ): Promise<number> {
      if (findEnded.get(now) === undefined) return 0;
      const { places, heads } = await planPrune(batches(), now, mayDrop);
      if (places.length === 0 || !(await starting(heads))) return 0;
      let dropped = 0;
      for (let start = 0; start < places.length && database.isOpen; ) {
        const began = performance.now();
        const batch = dropSome(places.slice(start, start + DROPPED_AT_ONCE));
        if (batch !== undefined) start += DROPPED_AT_ONCE;
        dropped += batch ?? 0;
        await restAfter(began);
      }
      return dropped;
    },
  };
}

function filter(query: AuditQuery): { readonly conditions: string; readonly values: SQLInputValue[] } {
  const given: (readonly [condition: string, value: SQLInputValue | undefined])[] = [
    ['action = ?', query.action],
    ['outcome = ?', query.outcome],
    ['client = ?', query.client],
    ['tenant = ?', query.tenant],
    ['at >= ?', query.since],
    ['at < ?', query.until],
    [
      'EXISTS (SELECT 1 FROM audit_category WHERE audit_category.position = audit.position AND category = ?)',
      query.category,
    ],
  ];
  const asked = given.flatMap(([condition, value]) => (value === undefined ? [] : [{ condition, value }]));
  return {
    conditions: asked.map(({ condition }) => `AND ${condition}`).join(' '),
    values: asked.map(({ value }) => value),
  };
}

/** The file may hold any number, even one that is not a valid time. */
function instant(column: string): string {
  return `max(0, min(${column}, ${LATEST_INSTANT})) AS ${column}`;
}

type Row = Record<string, SQLOutputValue>;

function numbers(row: Row | undefined): { readonly oldest: number; readonly newest: number } {
  return { oldest: Number(row?.oldest), newest: Number(row?.newest) };
}

function parsedEntry({ position, at, entry }: Row): AuditEntry {
  return parseAuditEntry(String(entry), () => ({ id: `position-${position}`, timestamp: timestamp(Number(at)) }));
}

/**
 * The filter columns repeat the entry's content. When they disagree, one was altered, and the entry is returned without
 * a valid hash.
 */
function entryOf(row: Row): AuditEntry {
  const at = Number(row.at);
  const entry = parsedEntry(row);
  const { identity, tenant, categories, compliance } = entry;
  const agrees =
    Date.parse(entry.timestamp) === at &&
    entry.action === row.action &&
    entry.outcome === row.outcome &&
    (identity.clientId ?? null) === row.client &&
    (tenant?.id ?? null) === row.tenant &&
    Date.parse(compliance.retainUntil) === row.retain_until &&
    sameMembers(JSON.parse(String(row.categories)), categories);
  return agrees ? entry : { ...entry, compliance: { ...compliance, hash: '' } };
}

/** @param began when the work began, on the monotonic clock */
function restAfter(began: number): Promise<void> {
  const milliseconds = Math.max(SHORTEST_REST_MS, REST * (performance.now() - began));
  return new Promise((proceed) => {
    setTimeout(proceed, milliseconds).unref();
  });
}

/** @param kept without duplicates */
function sameMembers(kept: readonly string[], told: readonly string[]): boolean {
  const members = new Set(told);
  return kept.length === members.size && kept.every((name) => members.has(name));
}
