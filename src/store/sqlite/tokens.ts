import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import type { StoredValues } from '../stored-values.ts';
import type { TokenSession, TokenStore } from '../token-store.ts';
import { prepareRead } from './file.ts';
import type { SqliteHandle } from './handle.ts';

export interface TokenStatements {
  readonly tokens: ReturnType<typeof prepareTokens>;
}

export function prepareTokens(database: DatabaseSync) {
  const remove = database.prepare('DELETE FROM token_session WHERE id = ?');
  const insertRevocation = database.prepare('INSERT OR IGNORE INTO token_revocation (session, until) VALUES (?, ?)');
  const dropRevocations = database.prepare('DELETE FROM token_revocation WHERE until <= ?');
  return {
    insert: database.prepare(
      'INSERT INTO token_session (id, current, data, expires_at) VALUES (:id, :current, :data, :expiresAt)',
    ),
    read: prepareRead(database, 'SELECT * FROM token_session WHERE id = ? AND expires_at > ?'),
    replace: database.prepare('UPDATE token_session SET current = ? WHERE id = ?'),
    dropEnded: database.prepare('DELETE FROM token_session WHERE expires_at <= ?'),
    readRevocations: prepareRead(
      database,
      'SELECT position, session, until FROM token_revocation WHERE position > ? AND until > ? ORDER BY position',
    ),
    /** Runs within a transaction. */
    revoke(id: string, until: number, now: number): boolean {
      remove.run(id);
      dropRevocations.run(now);
      return Number(insertRevocation.run(id, until).changes) === 1;
    },
  };
}

/** Token records in the database of a SQLite store. */
export function createSqliteTokens({ read, write }: SqliteHandle<TokenStatements>, stored: StoredValues): TokenStore {
  return {
    begin: ({ id, current, data, expiresAt }, now) =>
      write(({ tokens }) => {
        tokens.dropEnded.run(now);
        tokens.insert.run({ id, current, data, expiresAt });
      }),

    find: (id, now) =>
      read(({ tokens }) => {
        const row = tokens.read.get(id, now);
        return row && sessionOf(stored, row);
      }),

    rotate: ({ id, expected, next, now, revokedUntil }) =>
      write(({ tokens }) => {
        const row = tokens.read.get(id, now);
        const session = row && sessionOf(stored, row);
        if (session === undefined) return 'ended';
        if (session.current !== expected) {
          tokens.revoke(id, revokedUntil, now);
          return 'reused';
        }
        tokens.replace.run(next, id);
        return 'rotated';
      }),

    revoke: (id, until, now) => write(({ tokens }) => tokens.revoke(id, until, now)),

    revocations: (after, now) =>
      read(({ tokens }) => {
        const rows = tokens.readRevocations.all(after, now);
        return {
          position: Number(rows.at(-1)?.position ?? after),
          revoked: rows.map((row) => ({ sessionId: String(row.session), until: Number(row.until) })),
        };
      }),
  };
}

function sessionOf(stored: StoredValues, row: Record<string, SQLOutputValue>): TokenSession | undefined {
  const { id, current, data, expires_at } = row;
  return stored.session({ id, current, data, expiresAt: Number(expires_at) });
}
