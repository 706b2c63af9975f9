import type { DatabaseSync } from 'node:sqlite';
import type { AuditEntry } from '../../wire/audit-messages.ts';
import { timers } from '../../wire/time/timers.ts';
import { LATEST_INSTANT } from '../../wire/time.ts';
import { inTurn } from '../one-at-a-time.ts';
import { SqlTrail } from '../sql-trail.ts';
import { isBusy, prepareRead } from './file.ts';

/** Entries dropped per transaction and turn of the event loop: a few milliseconds. */
const DROPPED_AT_ONCE = 200;
/** A prune pauses for this many times its working time, so that other writers mostly find the file unlocked. */
const REST = 3;
/** Shortest pause in milliseconds, also after meeting another process's lock. */
const SHORTEST_REST_MS = 5;
/** Positions searched and entries read per turn of the event loop: less than a millisecond each, some more from a cold disk. */
const SEARCHED_AT_ONCE = 2_000;
const READ_AT_ONCE = 50;

const CONDITIONS = {
  action: 'action = ?',
  outcome: 'outcome = ?',
  client: 'client = ?',
  tenant: 'tenant = ?',
  since: 'at >= ?',
  until: 'at < ?',
  category: 'EXISTS (SELECT 1 FROM audit_category WHERE audit_category.position = audit.position AND category = ?)',
};

/**
 * The trail in the database of a SQLite store. The index `audit_filter` holds every filtered column in the order of
 * writing, so that searching a million entries takes a tenth of a second with any filter.
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
  const newest = prepareRead(database, `SELECT ${columns} FROM audit ORDER BY position DESC LIMIT 1`);
  const newestBefore = prepareRead(database, 'SELECT max(position) AS position FROM audit WHERE position < ?');
  const findEnded = database.prepare('SELECT 1 FROM audit WHERE retain_until <= ? LIMIT 1');
  const readAfter = prepareRead(
    database,
    `SELECT position, ${instant('at')}, entry FROM audit WHERE position > ? ORDER BY position LIMIT ${READ_AT_ONCE}`,
  );
  const drop = database.prepare('DELETE FROM audit WHERE position IN (SELECT value FROM json_each(?))');
  const dropBefore = database.prepare('DELETE FROM audit WHERE position <= ?');
  const next = inTurn();
  /** Resolves in a later turn of the event loop, a separate one for each caller. */
  const nextTurn = () => next(() => new Promise(timers.setImmediate));

  /** Drops one batch; returns the count, or `undefined` when another process holds the lock. */
  function dropSome(positions: readonly number[]): number | undefined {
    try {
      return Number(drop.run(JSON.stringify(positions)).changes);
    } catch (error) {
      if (!isBusy(error)) throw error;
      return undefined;
    }
  }

  const trail = new SqlTrail({
    conditions: CONDITIONS,
    searchedAtOnce: SEARCHED_AT_ONCE,
    readAtOnce: READ_AT_ONCE,
    newest: async () => newest.get(),
    newestBefore: async (position) => newestBefore.get(position)?.position,

    search({ conditions, values }) {
      const filter = conditions.map((condition) => `AND ${condition}`).join(' ');
      const read = prepareRead(
        database,
        `SELECT ${columns} FROM audit INDEXED BY audit_filter WHERE position < ? AND position >= ? ${filter}
         ORDER BY position DESC LIMIT ?`,
      );
      return async ({ before, begin, limit }) => {
        await nextTurn();
        return read.all(before, begin, ...values, limit);
      };
    },

    /** Finds nothing more when the database is closed. */
    async readAfter(position) {
      const began = performance.now();
      const rows = database.isOpen ? readAfter.all(position) : [];
      await restAfter(began);
      return rows;
    },

    hasEnded: async (now) => findEnded.get(now) !== undefined,

    /** Ends early when the database is closed. */
    async drop(positions) {
      let dropped = 0;
      for (let start = 0; start < positions.length && database.isOpen; ) {
        const began = performance.now();
        const batch = dropSome(positions.slice(start, start + DROPPED_AT_ONCE));
        if (batch !== undefined) start += DROPPED_AT_ONCE;
        dropped += batch ?? 0;
        await restAfter(began);
      }
      return dropped;
    },
  });

  return Object.assign(trail, {
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
  });
}

/** The file may hold any number, even one that is not a valid time. */
function instant(column: string): string {
  return `max(0, min(${column}, ${LATEST_INSTANT})) AS ${column}`;
}

/** @param began when the work began, on the monotonic clock */
function restAfter(began: number): Promise<void> {
  const milliseconds = Math.max(SHORTEST_REST_MS, REST * (performance.now() - began));
  return new Promise((proceed) => {
    timers.setTimeout(proceed, milliseconds).unref();
  });
}
