import type { DatabaseSync, SQLInputValue, SQLOutputValue } from 'node:sqlite';
import { parseAuditEntry } from '../../wire/audit-entry.ts';
import type { AuditEntry } from '../../wire/audit-messages.ts';
import { timers } from '../../wire/time/timers.ts';
import { LATEST_INSTANT, timestamp } from '../../wire/time.ts';
import { countedPosition, type Found, pageOf } from '../audit-query.ts';
import { type Placed, prune } from '../prune-plan.ts';
import type { AuditPage, AuditQuery, StateStore } from '../state-store.ts';
import { prepareRead } from './file.ts';
import { isBusy } from './lock.ts';

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
  const read = prepareRead(database, `SELECT ${columns} FROM audit WHERE position = ?`);
  const newest = prepareRead(database, `SELECT ${columns} FROM audit ORDER BY position DESC LIMIT 1`);
  const newestBefore = prepareRead(database, 'SELECT max(position) AS position FROM audit WHERE position < ?');
  const findEnded = database.prepare('SELECT 1 FROM audit WHERE retain_until <= ? LIMIT 1');
  const readFrom = prepareRead(
    database,
    `SELECT position, ${instant('at')}, entry FROM audit WHERE position > ? ORDER BY position LIMIT ${READ_AT_ONCE}`,
  );
  const drop = database.prepare('DELETE FROM audit WHERE position IN (SELECT value FROM json_each(?))');
  const dropBefore = database.prepare('DELETE FROM audit WHERE position <= ?');
  let turn: Promise<unknown> = Promise.resolve();

  /** Resolves in a later turn of the event loop, a separate one for each caller. */
  function nextTurn(): Promise<unknown> {
    turn = turn.then(() => new Promise(timers.setImmediate));
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

  /** The matching entries before a position, newest first. An entry may be pruned between the search and the read. */
  async function* search(query: AuditQuery, before: number): AsyncGenerator<Found> {
    const { conditions, values } = filter(query);
    const scan = prepareRead(
      database,
      `SELECT position FROM audit INDEXED BY audit_filter WHERE position < ? AND position >= ? ${conditions}
       ORDER BY position DESC`,
    );
    let entries = 0;
    let bytes = 0;
    for (let end = before; ; ) {
      // Positions may be far apart.
      const last = newestBefore.get(end)?.position;
      if (last === null || last === undefined) return;
      const begin = Number(last) + 1 - SCANNED_AT_ONCE;
      for (const { position } of scan.all(end, begin, ...values)) {
        const row = read.get(position as bigint);
        if (row === undefined) continue;
        const size = String(row.entry).length;
        yield { position: String(position), entry: entryOf(row), bytes: size };
        entries += 1;
        bytes += size;
        if (entries < READ_AT_ONCE && bytes < BYTES_AT_ONCE) continue;
        entries = 0;
        bytes = 0;
        await nextTurn();
      }
      end = begin;
      await nextTurn();
    }
  }

  /** Ends early when the database is closed. */
  async function dropAll(positions: readonly number[]): Promise<number> {
    let dropped = 0;
    for (let start = 0; start < positions.length && database.isOpen; ) {
      const began = performance.now();
      const batch = dropSome(positions.slice(start, start + DROPPED_AT_ONCE));
      if (batch !== undefined) start += DROPPED_AT_ONCE;
      dropped += batch ?? 0;
      await restAfter(began);
    }
    return dropped;
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
      const before = query.cursor === undefined ? Number.MAX_SAFE_INTEGER : countedPosition(query.cursor);
      return pageOf({ found: search(query, before), limit: query.limit });
    },

    newest(): AuditEntry | undefined {
      const row = newest.get();
      return row && entryOf(row);
    },

    async prune(...asked: Parameters<StateStore['pruneAudit']>): Promise<number> {
      return findEnded.get(asked[0]) === undefined ? 0 : prune({ batches, drop: dropAll }, ...asked);
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
    Date.parse(compliance.retainUntil) === Number(row.retain_until) &&
    sameMembers(JSON.parse(String(row.categories)), categories);
  return agrees ? entry : { ...entry, compliance: { ...compliance, hash: '' } };
}

/** @param began when the work began, on the monotonic clock */
function restAfter(began: number): Promise<void> {
  const milliseconds = Math.max(SHORTEST_REST_MS, REST * (performance.now() - began));
  return new Promise((proceed) => {
    timers.setTimeout(proceed, milliseconds).unref();
  });
}

/** @param kept without duplicates */
function sameMembers(kept: readonly string[], said: readonly string[]): boolean {
  const members = new Set(said);
  return kept.length === members.size && kept.every((name) => members.has(name));
}
