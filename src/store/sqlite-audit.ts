import type { DatabaseSync, SQLInputValue, SQLOutputValue } from 'node:sqlite';
import type { AuditEntry } from '../protocol/messages.ts';
import { COUNTED_POSITION, decodeCursor, encodeCursor } from './audit-query.ts';
import type { AuditPage, AuditQuery } from './state-store.ts';

/** Entries dropped by one transaction of a prune. */
const PRUNE_BATCH = 500;

/** The trail in the database of a SQLite store. A page is walked by an index on position: the trail is never read whole. */
export function createSqliteTrail(database: DatabaseSync) {
  const insert = database.prepare(
    'INSERT INTO audit (at, action, outcome, client, tenant, retain_until, entry) VALUES (?, ?, ?, ?, ?, ?, ?)',
  );
  const insertCategory = database.prepare('INSERT OR IGNORE INTO audit_category (position, category) VALUES (?, ?)');
  const newest = database.prepare('SELECT entry FROM audit ORDER BY position DESC LIMIT 1');
  const prune = database.prepare(
    `DELETE FROM audit WHERE position IN (SELECT position FROM audit WHERE retain_until <= ? LIMIT ${PRUNE_BATCH})`,
  );

  return {
    /** Part of the caller's transaction. */
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
    },

    page(query: AuditQuery): AuditPage {
      const { sql, values } = pageStatement(query);
      const rows = database.prepare(sql).all(...values);
      // One row beyond the page tells that there is a next one.
      const more = rows.length > query.limit;
      const page = more ? rows.slice(0, query.limit) : rows;
      const entries = page.map(entryOf);
      return more ? { entries, next: encodeCursor(String(page.at(-1)?.position)) } : { entries };
    },

    newest(): AuditEntry | undefined {
      const row = newest.get();
      return row && entryOf(row);
    },

    /** Drops one batch of entries whose retention has ended; returns how many. */
    prune(now: number): number {
      return Number(prune.run(now).changes);
    },
  };
}

function entryOf(row: Record<string, SQLOutputValue>): AuditEntry {
  return JSON.parse(String(row.entry)) as AuditEntry;
}

function pageStatement(query: AuditQuery): { readonly sql: string; readonly values: SQLInputValue[] } {
  const conditions: string[] = [];
  const values: SQLInputValue[] = [];
  function where(condition: string, ...bound: SQLInputValue[]): void {
    conditions.push(condition);
    values.push(...bound);
  }

  if (query.cursor !== undefined) where('walked.position < ?', Number(decodeCursor(query.cursor, COUNTED_POSITION)));
  if (query.category !== undefined) where('category = ?', query.category);
  if (query.action !== undefined) where('action = ?', query.action);
  if (query.outcome !== undefined) where('outcome = ?', query.outcome);
  if (query.client !== undefined) where('client = ?', query.client);
  if (query.tenant !== undefined) where('tenant = ?', query.tenant);
  // Clocks disagree, so time and position rise nearly together, not together: the bounds found in the index on time
  // narrow the walk by position, and the time itself decides. `+` keeps SQLite from walking by time and sorting.
  if (query.since !== undefined) {
    where('walked.position >= (SELECT min(position) FROM audit INDEXED BY audit_at WHERE at >= ?)', query.since);
    where('+at >= ?', query.since);
  }
  if (query.until !== undefined) {
    where('walked.position <= (SELECT max(position) FROM audit INDEXED BY audit_at WHERE at < ?)', query.until);
    where('+at < ?', query.until);
  }

  const walked =
    query.category === undefined
      ? 'audit AS walked'
      : 'audit_category AS walked CROSS JOIN audit ON audit.position = walked.position';
  const filter = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
  return {
    sql: `SELECT walked.position AS position, entry FROM ${walked} ${filter} ORDER BY walked.position DESC LIMIT ?`,
    values: [...values, query.limit + 1],
  };
}
