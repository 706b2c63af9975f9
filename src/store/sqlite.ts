import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { SQLOutputValue } from 'node:sqlite';
import type { Position } from './fleet-store.ts';
import { decodeSettings, encodeSettings } from './settings-json.ts';
import { createSqliteTrail } from './sqlite-audit.ts';
import { isBusy, openSqliteFile, waitingForLock } from './sqlite-file.ts';
import { createSqliteFleet, SQLITE_HISTORY } from './sqlite-fleet.ts';
import { createLogSync, NO_SYNC } from './sqlite-log-sync.ts';
import { createSqliteTokens } from './sqlite-tokens.ts';
import type { Commit, CommitResult, ReplayRecord, ScopeState, StateStore } from './state-store.ts';
import { Subscribers } from './subscribers.ts';

/** How often the file is asked whether another process wrote it, in milliseconds. */
const POLL_MS = 100;

/** Scopes read in one turn of the event loop: a few milliseconds. What changes meanwhile is found by the next poll. */
const LOADED_AT_ONCE = 500;

/** How long a check waits for the lock of another process, in milliseconds. The event loop waits with it. */
const CHECK_TIMEOUT_MS = 50;

/** Audit entries of a file that is removed anyway. */
const MAX_PASSING_ENTRIES = 10_000;

export interface SqliteStoreOptions {
  /** False for a file that goes when its processes end: nothing is synced to disk, and the oldest audit entries are dropped. @default true */
  readonly lasting?: boolean;
}

type Row = Record<string, SQLOutputValue>;

/**
 * State in one SQLite file, shared by the processes of one host. A commit is one transaction, synced to disk before it is
 * acknowledged. The file must be on a local disk: the write-ahead log needs shared memory.
 *
 * SQLite works in the calling thread: a commit takes a fraction of a millisecond, and waits at most 200 ms where
 * another process holds the lock, after which it rejects. A commit that says `syncLater` does not wait for the disk there:
 * it is synced in another thread, together with those that came meanwhile.
 * @param file the path; made with mode 0600 where there is none
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` when the file cannot be used
 */
export function createSqliteStore(file: string, { lasting = true }: SqliteStoreOptions = {}): StateStore {
  const path = resolve(file);
  const database = openSqliteFile(path);
  const inode = statSync(path).ino;
  const writer = randomUUID();
  const trail = createSqliteTrail(database, lasting ? undefined : MAX_PASSING_ENTRIES);
  const log = lasting ? createLogSync(path) : NO_SYNC;
  if (!lasting) database.exec('PRAGMA synchronous = OFF');
  const subscribers = new Subscribers();

  const begin = database.prepare('BEGIN IMMEDIATE');
  const end = database.prepare('COMMIT');
  const abort = database.prepare('ROLLBACK');
  const readScope = database.prepare('SELECT revision, settings, changed_at FROM scope WHERE key = ?');
  const readScopes = database.prepare(
    `SELECT key, revision, settings, changed_at FROM scope WHERE key > ? ORDER BY key LIMIT ${LOADED_AT_ONCE}`,
  );
  const readChanges = database.prepare(
    'SELECT key, revision, settings, changed_at FROM scope WHERE version > ? AND writer <> ? ORDER BY version',
  );
  const readVersion = database.prepare('SELECT coalesce(max(version), 0) AS version FROM scope');
  const writeScope = database.prepare(
    `INSERT INTO scope (key, revision, settings, changed_at, version, writer)
     VALUES (?, ?, ?, ?, (SELECT coalesce(max(version), 0) + 1 FROM scope), ?)
     ON CONFLICT (key) DO UPDATE SET revision = excluded.revision, settings = excluded.settings,
       changed_at = excluded.changed_at, version = excluded.version, writer = excluded.writer
     RETURNING version`,
  );
  const readReplay = database.prepare('SELECT * FROM replay WHERE key = ? AND expires_at > ?');
  const writeReplay = database.prepare(
    'INSERT OR REPLACE INTO replay (key, fingerprint, response, expires_at) VALUES (?, ?, ?, ?)',
  );
  const dropReplays = database.prepare('DELETE FROM replay WHERE expires_at <= ?');
  const emptyLog = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)');
  const keepVersion = `PRAGMA user_version = ${database.prepare('PRAGMA user_version').get()?.user_version}`;
  const readDataVersion = database.prepare('PRAGMA data_version');

  /** Version of the newest change that this handle has read or announced. */
  let seen = version();
  /** Version of this handle's own last change, which its owner has applied by itself. */
  let written = 0;
  /** SQLite's own number that moves when another connection commits; unknown before the first poll. */
  let dataVersion: SQLOutputValue | undefined;
  let timer: NodeJS.Timeout | undefined;
  /** Whether SQLite syncs the log at each commit. */
  let syncing = true;
  /** Whether the last check met the lock of another program. */
  let locked = false;
  let closed = false;

  const fleet = createSqliteFleet({ open: () => openSqliteFile(path), seen: () => seen });

  function version(): number {
    return Number(readVersion.get()?.version);
  }

  /** A file that was taken away or replaced under us takes writes that nobody will ever read. */
  function assertInPlace(): void {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined) throw new Error('the SQLite file was taken away');
    if (found.ino !== inode) throw new Error('the SQLite file was replaced');
  }

  /** After a sync that failed, what is in the log counts as kept only once the database has taken all of it over. */
  function trustLog(): void {
    if (log.usable) return;
    if (emptyLog.get()?.busy !== 0) throw new Error('the disk refused to keep what was committed');
    log.begunAnew();
  }

  /**
   * Runs `work` as one transaction, which is undone when it throws. Work that returns early has written nothing.
   * @param sync whether it is durable when this returns
   */
  function transaction<T>(work: () => T, sync = true): T {
    assertInPlace();
    trustLog();
    if (lasting && sync !== syncing) {
      database.exec(`PRAGMA synchronous = ${sync ? 'FULL' : 'NORMAL'}`);
      syncing = sync;
    }
    begin.run();
    try {
      const result = work();
      end.run();
      return result;
    } catch (error) {
      rollback();
      throw error;
    }
  }

  // SQLite itself rolls back on a full disk and on an input/output error; there is nothing left to undo then.
  function rollback(): void {
    try {
      abort.run();
    } catch {}
  }

  /**
   * Commits the schema's number as it is: one page, which the disk takes or refuses. Another program's lock is a refusal
   * only when the check before met one too.
   */
  function assertWritable(): void {
    try {
      waitingForLock(database, CHECK_TIMEOUT_MS, () => transaction(() => database.exec(keepVersion), false));
      locked = false;
    } catch (error) {
      if (!isBusy(error) || locked) throw error;
      locked = true;
    }
  }

  function replayOf(key: string, now: number): ReplayRecord | undefined {
    const row = readReplay.get(key, now);
    if (row === undefined) return undefined;
    return {
      key,
      fingerprint: String(row.fingerprint),
      response: String(row.response),
      expiresAt: Number(row.expires_at),
    };
  }

  function apply({ state, audit, replay, now }: Commit): CommitResult {
    let position: Position | undefined;
    const answered = replay && replayOf(replay.key, now);
    if (answered !== undefined) return { outcome: 'replayed', replay: answered };
    if (state !== undefined) {
      const current = readScope.get(state.scope);
      if (Number(current?.revision ?? 0) !== state.expectedRevision) {
        return { outcome: 'conflict', current: scopeState(current) };
      }
      const row = writeScope.get(state.scope, state.expectedRevision + 1, encodeSettings(state.settings), now, writer);
      position = { history: SQLITE_HISTORY, revision: Number(row?.version) };
    }
    trail.append(audit);
    if (replay !== undefined) writeReplay.run(replay.key, replay.fingerprint, replay.response, replay.expiresAt);
    return state === undefined || position === undefined
      ? { outcome: 'committed' }
      : { outcome: 'committed', revision: state.expectedRevision + 1, position };
  }

  async function commitAll(commits: readonly Commit[]): Promise<readonly CommitResult[]> {
    const syncLater = commits.every((commit) => commit.syncLater === true);
    const results = transaction(() => applyAll(commits), !syncLater);
    const moved = results.findLast((result) => result.outcome === 'committed' && result.position !== undefined);
    if (moved?.outcome === 'committed' && moved.position !== undefined) {
      written = moved.position.revision;
      // By then whoever asked for the commit has taken it over.
      if (timer !== undefined) setImmediate(poll).unref();
    }
    if (results.at(-1)?.outcome === 'replayed') await log.sync();
    if (!syncLater || results[0]?.outcome !== 'committed') return results;
    const durable = log.sync();
    return results.map((result) => (result.outcome === 'committed' ? { ...result, durable } : result));
  }

  /** Ends at the first that is not committed, which has written nothing. */
  function applyAll(commits: readonly Commit[]): readonly CommitResult[] {
    const results: CommitResult[] = [];
    if (commits[0]?.replay !== undefined) dropReplays.run(commits[0].now);
    for (const commit of commits) {
      const result = apply(commit);
      results.push(result);
      if (result.outcome !== 'committed') break;
    }
    return results;
  }

  function poll(): void {
    try {
      const current = readDataVersion.get()?.data_version;
      if (current === dataVersion && written <= seen) return;
      const newest = version();
      const changes = readChanges.all(seen, writer);
      const moved = newest !== seen;
      dataVersion = current;
      seen = newest;
      for (const row of changes) subscribers.announce(String(row.key), scopeState(row));
      if (moved) fleet.moved();
    } catch {
      // The next poll asks again: what was not announced is still newer than `seen`. check() tells of the fault.
    }
  }

  return {
    name: 'sqlite',
    shared: true,
    tokens: createSqliteTokens(database, transaction),
    fleet,

    async load() {
      // With subscribers, what changed meanwhile still has to be announced.
      if (subscribers.size === 0) seen = version();
      const scopes = new Map<string, ScopeState>();
      for (let last = ''; ; ) {
        const rows = readScopes.all(last);
        for (const row of rows) scopes.set(String(row.key), scopeState(row));
        if (rows.length < LOADED_AT_ONCE) return scopes;
        last = String(rows.at(-1)?.key);
        await new Promise(setImmediate);
      }
    },

    commit: async (commit) => (await commitAll([commit]))[0] as CommitResult,
    commitAll,

    async findReplay(key, now) {
      const replay = replayOf(key, now);
      // It may have been kept a moment ago, here or in another process.
      if (replay === undefined) return undefined;
      trustLog();
      await log.sync();
      return replay;
    },

    subscribe(listener) {
      if (closed) return () => {};
      timer ??= setInterval(poll, POLL_MS).unref();
      return subscribers.add(listener, () => {
        clearInterval(timer);
        timer = undefined;
      });
    },

    async queryAudit(query) {
      return trail.page(query);
    },

    async newestAudit() {
      return trail.newest();
    },

    pruneAudit: (now, starting = async () => true) => trail.prune(now, starting),

    async check() {
      readVersion.get();
      assertInPlace();
      // To empty the log is to write as well.
      if (log.usable) assertWritable();
      else trustLog();
    },

    async close() {
      if (closed) return;
      closed = true;
      clearInterval(timer);
      subscribers.clear();
      fleet.close();
      await log.close();
      database.close();
    },
  };
}

function scopeState(row: Row | undefined): ScopeState {
  if (row === undefined) return { revision: 0, settings: new Map() };
  return {
    revision: Number(row.revision),
    settings: decodeSettings(String(row.settings)),
    changedAt: Number(row.changed_at),
  };
}
