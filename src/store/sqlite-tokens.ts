import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import type { TokenSession, TokenStore } from './token-store.ts';

/** Runs work as one transaction, which is undone when it throws. */
export type Transaction = <T>(work: () => T) => T;

/** Token records in the database of a SQLite store. */
export function createSqliteTokens(database: DatabaseSync, transaction: Transaction): TokenStore {
  const insert = database.prepare(
    'INSERT INTO token_session (id, current, data, expires_at) VALUES (:id, :current, :data, :expiresAt)',
  );
  const read = database.prepare('SELECT * FROM token_session WHERE id = ? AND expires_at > ?');
  const replace = database.prepare('UPDATE token_session SET current = ? WHERE id = ?');
  const remove = database.prepare('DELETE FROM token_session WHERE id = ?');
  const dropEnded = database.prepare('DELETE FROM token_session WHERE expires_at <= ?');
  const insertRevocation = database.prepare('INSERT OR IGNORE INTO token_revocation (session, until) VALUES (?, ?)');
  const dropRevocations = database.prepare('DELETE FROM token_revocation WHERE until <= ?');
  const readRevocations = database.prepare(
    'SELECT position, session, until FROM token_revocation WHERE position > ? AND until > ? ORDER BY position',
  );

  /** Part of a transaction. */
  function revoke(id: string, until: number, now: number): boolean {
    remove.run(id);
    dropRevocations.run(now);
    return Number(insertRevocation.run(id, until).changes) === 1;
  }

  return {
    async begin({ id, current, data, expiresAt }, now) {
      transaction(() => {
        dropEnded.run(now);
        insert.run({ id, current, data, expiresAt });
      });
    },

    async find(id, now) {
      const row = read.get(id, now);
      return row && sessionOf(row);
    },

    async rotate({ id, expected, next, now, revokedUntil }) {
      return transaction(() => {
        const row = read.get(id, now);
        if (row === undefined) return 'ended';
        if (sessionOf(row).current !== expected) {
          revoke(id, revokedUntil, now);
          return 'reused';
        }
        replace.run(next, id);
        return 'rotated';
      });
    },

    async revoke(id, until, now) {
      return transaction(() => revoke(id, until, now));
    },

    async revocations(after, now) {
      const rows = readRevocations.all(after, now);
      return {
        position: Number(rows.at(-1)?.position ?? after),
        revoked: rows.map((row) => ({ sessionId: String(row.session), until: Number(row.until) })),
      };
    },
  };
}

function sessionOf(row: Record<string, SQLOutputValue>): TokenSession {
  return {
    id: String(row.id),
    current: String(row.current),
    data: String(row.data),
    expiresAt: Number(row.expires_at),
  };
}
