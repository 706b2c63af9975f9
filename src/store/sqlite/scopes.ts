import type { DatabaseSync } from 'node:sqlite';
import { LOADED_AT_ONCE, replayOf, scopeOf } from '../sql-rows.ts';
import type { Commit, CommitResult, ReplayRecord } from '../state-store.ts';
import { encodeScope, type StoredValues } from '../stored-values.ts';
import type { createSqliteTrail } from './audit.ts';
import { prepareRead } from './file.ts';

export interface CommitStatements {
  readonly scopes: ReturnType<typeof prepareScopes>;
  readonly trail: Pick<ReturnType<typeof createSqliteTrail>, 'append'>;
}

/** Statements for scopes, replay records and the file's history. */
export function prepareScopes(database: DatabaseSync) {
  const newest = prepareRead(database, 'SELECT coalesce(max(version), 0) AS version FROM scope');
  const history = database.prepare('SELECT id FROM history');
  return {
    version: () => Number(newest.get()?.version),
    history: () => String(history.get()?.id),
    revision: prepareRead(database, 'SELECT revision FROM scope WHERE key = ?'),
    read: prepareRead(database, 'SELECT revision, settings, changed_at FROM scope WHERE key = ?'),
    readSome: prepareRead(
      database,
      `SELECT key, revision, settings, changed_at FROM scope WHERE key > ? ORDER BY key LIMIT ${LOADED_AT_ONCE}`,
    ),
    readChanges: prepareRead(
      database,
      'SELECT key, revision, settings, changed_at FROM scope WHERE version > ? AND writer <> ? ORDER BY version',
    ),
    write: prepareRead(
      database,
      `INSERT INTO scope (key, revision, settings, changed_at, version, writer)
       VALUES (?, ?, ?, ?, (SELECT coalesce(max(version), 0) + 1 FROM scope), ?)
       ON CONFLICT (key) DO UPDATE SET revision = excluded.revision, settings = excluded.settings,
         changed_at = excluded.changed_at, version = excluded.version, writer = excluded.writer
       RETURNING version`,
    ),
    readReplay: prepareRead(database, 'SELECT * FROM replay WHERE key = ? AND expires_at > ?'),
    writeReplay: database.prepare(
      'INSERT OR REPLACE INTO replay (key, fingerprint, response, expires_at) VALUES (?, ?, ?, ?)',
    ),
    dropReplays: database.prepare('DELETE FROM replay WHERE expires_at <= ?'),
    /** SQLite's counter that changes when another connection commits. */
    dataVersion: database.prepare('PRAGMA data_version'),
    /** Rewrites the schema version unchanged: one page, which the disk accepts or rejects. */
    probe: () => database.exec(`PRAGMA user_version = ${database.prepare('PRAGMA user_version').get()?.user_version}`),
  };
}

/** Runs within a transaction. */
export function applyCommit(
  { scopes, trail }: CommitStatements,
  { state, audit, replay, now }: Commit,
  { writer, history, stored }: { readonly writer: string; readonly history: string; readonly stored: StoredValues },
): CommitResult {
  const answered = replay && findReplay(stored, scopes, replay.key, now);
  if (answered !== undefined) return { outcome: 'replayed', replay: answered };
  let version: number | undefined;
  if (state !== undefined) {
    const { scope, expectedRevision } = state;
    if (stored.revision(Number(scopes.revision.get(scope)?.revision ?? 0)) !== expectedRevision) {
      return { outcome: 'conflict', current: scopeOf(stored, scopes.read.get(scope)) };
    }
    const row = scopes.write.get(scope, expectedRevision + 1, encodeScope(state), now, writer);
    version = Number(row?.version);
  }
  trail.append(audit);
  if (replay !== undefined) scopes.writeReplay.run(replay.key, replay.fingerprint, replay.response, replay.expiresAt);
  return state === undefined || version === undefined
    ? { outcome: 'committed' }
    : { outcome: 'committed', revision: state.expectedRevision + 1, position: { history, revision: version } };
}

export function findReplay(
  stored: StoredValues,
  { readReplay }: CommitStatements['scopes'],
  key: string,
  now: number,
): ReplayRecord | undefined {
  const row = readReplay.get(key, now);
  return row && replayOf(stored, row);
}
