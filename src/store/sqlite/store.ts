import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { unwritten } from '../../wire/errors.ts';
import { timers } from '../../wire/time/timers.ts';
import { Listeners } from '../listeners.ts';
import { allScopes, LOADED_AT_ONCE, replayOf, scopeOf, scopesOf } from '../sql-rows.ts';
import type { Commit, CommitResult, ReplayRecord, ScopeKey, ScopeState, StateStore } from '../state-store.ts';
import { encodeScope, StoredValues } from '../stored-values.ts';
import { createSqliteTrail } from './audit.ts';
import { isBusy, prepareRead } from './file.ts';
import { createSqliteHandle, IN_PASSING_MS } from './handle.ts';
import { createSqliteMessages, prepareMessages } from './messages.ts';
import { createSqliteRecords, prepareRecords } from './records.ts';

/** Poll interval for writes by other processes, in milliseconds. */
const POLL_MS = 100;

/** Audit entries kept in a temporary file. */
const MAX_PASSING_ENTRIES = 10_000;

interface SqliteStoreOptions {
  /** False for a temporary file: nothing is synced to disk, and the oldest audit entries are dropped. @default true */
  readonly lasting?: boolean;
}

/**
 * State in one SQLite file, shared by the processes of one host. A commit is one transaction, synced to disk before it
 * is acknowledged. The file must be on a local disk, because the write-ahead log needs shared memory.
 *
 * SQLite runs in the calling thread: a commit takes a fraction of a millisecond. The disk's sync runs in another thread, and one
 * serves all commits before it. While another process holds the lock, a write is retried for half a second, and the event loop
 * runs meanwhile.
 *
 * Nothing is acknowledged in a file or log that is not at its path any more: once the file was removed or replaced,
 * everything rejects until the process is started again.
 * @param file the path; created with mode 0600 if missing
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` when the file cannot be used
 */
export function createSqliteStore(file: string, { lasting = true }: SqliteStoreOptions = {}): StateStore {
  const writer = randomUUID();
  const subscribers = new Listeners<[ScopeKey, ScopeState]>('changes');
  const stored = new StoredValues();
  const handle = createSqliteHandle({
    path: resolve(file),
    lasting,
    prepare: (database: DatabaseSync) => ({
      scopes: prepareScopes(database),
      trail: createSqliteTrail(database, lasting ? undefined : MAX_PASSING_ENTRIES),
      records: prepareRecords(database),
      messages: prepareMessages(database),
    }),
  });
  const { read, write } = handle;

  const history = handle.statements().scopes.history();
  /** Version of the newest change that this handle has read or announced. */
  let seen = handle.statements().scopes.version();
  /** Version of this handle's own last change, which is already applied. */
  let written = 0;
  /** Unknown before the first poll. */
  let dataVersion: unknown;
  let timer: NodeJS.Timeout | undefined;
  /** Whether the last check was blocked by another program's lock. */
  let locked = false;
  let closed = false;

  const moved = new Listeners<[]>('positions');
  const messages = createSqliteMessages(handle, writer, follow);

  /** Polls as long as there are listeners. */
  function follow(): void {
    const wanted = !closed && (subscribers.size > 0 || messages.isListening);
    if (wanted) timer ??= timers.setInterval(poll, POLL_MS).unref();
    else {
      timers.clearInterval(timer);
      timer = undefined;
    }
  }

  /** Fails because of another program's lock only when the check before met one too. */
  async function assertWritable(): Promise<void> {
    try {
      await write(({ scopes }) => scopes.probe(), IN_PASSING_MS);
      locked = false;
    } catch (error) {
      if (!(error instanceof Error) || !isBusy(error.cause) || locked) throw error;
      locked = true;
    }
  }

  async function commit(wanted: Commit): Promise<CommitResult> {
    const result = await write(
      (statements) => {
        if (wanted.replay !== undefined) statements.scopes.dropReplays.run(wanted.now);
        return applyCommit(statements, wanted, { writer, history, stored });
      },
      wanted.background === true ? IN_PASSING_MS : undefined,
    ).catch((error: unknown) => {
      // SQLite has rolled it back.
      throw unwritten(error);
    });
    if (result.outcome === 'committed') written = Math.max(written, result.position?.revision ?? 0);
    // The caller applies its commit first.
    if (written > seen && timer !== undefined) timers.setImmediate(poll).unref();
    if (wanted.background !== true && wanted.syncLater !== true) await handle.sync();
    return result;
  }

  function poll(): void {
    try {
      const { scopes } = handle.statements();
      const current = scopes.dataVersion.get()?.data_version;
      if (current === dataVersion && written <= seen) return;
      const newest = scopes.version();
      const changes = scopes.readChanges.all(seen, writer);
      const hasMoved = newest !== seen;
      dataVersion = current;
      seen = newest;
      for (const [scope, state] of scopesOf(stored, changes)) subscribers.call(scope, state);
      if (hasMoved) moved.call();
      messages.poll();
    } catch {
      // The next poll retries: unannounced changes are still newer than `seen`. check() reports the fault.
    }
  }

  return {
    name: 'sqlite',
    shared: true,
    isOnOneHost: true,
    records: createSqliteRecords(handle, stored),
    positions: {
      position: () => ({ history, revision: seen }),
      newest: () => read(({ scopes }) => ({ history, revision: scopes.version() })),
      onMoved: (listener) => moved.add(listener),
    },
    messages,

    async load() {
      // With subscribers, changes made meanwhile still have to be announced.
      if (subscribers.size === 0) seen = await read(({ scopes }) => scopes.version());
      return allScopes(stored, async (last) => {
        // Some milliseconds of the event loop. The next poll finds what changes meanwhile.
        if (last !== '') await new Promise(timers.setImmediate);
        return read(({ scopes }) => scopes.readSome.all(last));
      });
    },

    commit,
    sync: handle.sync,

    findReplay: (key, at) => read(({ scopes }) => findReplay(stored, scopes, key, at)),

    subscribe(listener) {
      if (closed) return () => {};
      const remove = subscribers.add(listener);
      follow();
      return () => {
        remove();
        follow();
      };
    },

    onMalformed: (listener) => stored.malformed.add(listener),
    queryAudit: async (query) => handle.statements().trail.page(query),
    newestAudit: () => read(({ trail }) => trail.newest()),
    pruneAudit: async (...args) => handle.statements().trail.prune(...args),

    async check() {
      await read(({ scopes }) => scopes.version());
      await assertWritable();
    },

    async close() {
      if (closed) return;
      closed = true;
      timers.clearInterval(timer);
      subscribers.clear();
      moved.clear();
      stored.malformed.clear();
      messages.close();
      await handle.close();
    },
  };
}

interface CommitStatements {
  readonly scopes: ReturnType<typeof prepareScopes>;
  readonly trail: Pick<ReturnType<typeof createSqliteTrail>, 'append'>;
}

function prepareScopes(database: DatabaseSync) {
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
function applyCommit(
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
