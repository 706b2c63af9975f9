import { closeSync, fdatasync, openSync, statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { StoreOutage } from '../../wire/errors.ts';
import { oneAtATime } from '../one-at-a-time.ts';
import { openSqliteFile, type RetryTimes, retryWhileLocked, storeError } from './file.ts';

/** How long work waits for another process's lock, in milliseconds. */
const PATIENCE_MS = 500;
/** The same for a write that no caller waits for. */
export const IN_PASSING_MS = 50;

const TIMES: RetryTimes = { monotonic: () => performance.now(), sleep, random: Math.random };

export interface SqliteHandleOptions<S> {
  readonly path: string;
  /** False for a temporary file: nothing is synced to disk. */
  readonly lasting: boolean;
  readonly prepare: (database: DatabaseSync) => S;
}

export type SqliteHandle<S> = ReturnType<typeof createSqliteHandle<S>>;

/**
 * Access to the file through one connection. Once the file was found removed or replaced, everything rejects
 * until the process is started again: nothing is acknowledged in a file that is not at its path.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` when the file cannot be used
 */
export function createSqliteHandle<S>(options: SqliteHandleOptions<S>) {
  const { lasting } = options;
  const { database, statements, log, faultOf, begin, commit, rollback } = connect(options);
  const syncFile = promisify(fdatasync);
  let fault: string | undefined;
  let closed = false;

  function giveUp(problem: string): void {
    fault = problem;
    // The next start would apply a log that stays behind to whatever file is at the path then.
    ignoreFailure(() => database.exec('PRAGMA wal_checkpoint(TRUNCATE)'));
    ignoreFailure(() => database.close());
  }

  /** Gives up once the files are not those at the path any more. */
  function isUsable(): boolean {
    const found = fault === undefined ? faultOf() : undefined;
    if (found !== undefined) giveUp(found);
    return fault === undefined;
  }

  /** The statements of the connection. @throws {StoreOutage} when the file is not usable any more */
  function usable(): S {
    if (closed) throw new Error('the SQLite store is closed');
    if (isUsable()) return statements;
    throw new StoreOutage(`the SQLite file ${fault}; restart the process to go on with what is there now`);
  }

  function transaction<T>(work: (statements: S) => T): T {
    const current = usable();
    begin.run();
    try {
      const result = work(current);
      commit.run();
      return result;
    } catch (error) {
      // SQLite itself rolls back on a full disk or an I/O error; there is nothing left to roll back then.
      ignoreFailure(() => rollback.run());
      throw error;
    }
  }

  /**
   * Runs in Node's thread pool, so that a slow disk does not block the application, and serves every write before it. After a
   * failure a later sync could succeed although the disk has lost what the first one was for.
   */
  const sync = oneAtATime(async () => {
    if (lasting && !closed) await syncFile(log).catch(() => giveUp('could not be synced to the disk'));
    usable();
  });

  async function retried<T>(patienceMs: number, work: () => T | Promise<T>): Promise<T> {
    try {
      return await retryWhileLocked(patienceMs, work, TIMES);
    } catch (error) {
      throw storeError(error);
    }
  }

  return {
    statements: usable,
    read: <T>(work: (statements: S) => T | Promise<T>): Promise<T> => retried(PATIENCE_MS, () => work(usable())),
    /**
     * Runs work as one transaction, rolled back when it throws. Work that returns early has written nothing. It survives the end of
     * the process, and a power loss once `sync` has resolved.
     * @param patienceMs how long it waits for another process's lock
     */
    write: <T>(work: (statements: S) => T, patienceMs = PATIENCE_MS): Promise<T> =>
      retried(patienceMs, () => transaction(work)),
    sync,
    async close(): Promise<void> {
      closed = true;
      // The log must not be closed under a sync that runs.
      await sync().catch(() => undefined);
      closeSync(log);
      if (isUsable()) database.close();
    },
  };
}

/** Milliseconds of the host's monotonic clock, which is the same in all its processes. */
export function hostTime(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}

function connect<S>({ path, lasting, prepare }: SqliteHandleOptions<S>) {
  const database = openSqliteFile(path);
  try {
    if (!lasting) database.exec('PRAGMA synchronous = OFF');
    // Creates the log and the shared memory if missing.
    database.prepare('SELECT count(*) FROM sqlite_schema').get();
    return {
      database,
      faultOf: watchFiles(path),
      statements: prepare(database),
      begin: database.prepare('BEGIN IMMEDIATE'),
      commit: database.prepare('COMMIT'),
      rollback: database.prepare('ROLLBACK'),
      // Windows syncs only what is open for writing.
      log: openSync(`${path}-wal`, 'r+'),
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

/** SQLite does not notice when the files of an open connection are removed or replaced, and writes on. Costs three calls of `stat`. */
function watchFiles(path: string): () => string | undefined {
  const files = [path, `${path}-wal`, `${path}-shm`].map((name) => ({ name, ...identityOf(name) }));
  return () => {
    const lost = files.find(({ name, ino, dev }) => {
      const found = identityOf(name);
      return found.ino !== ino || found.dev !== dev;
    });
    if (lost === undefined) return undefined;
    return lost.name === path ? 'was removed or replaced' : 'has lost its log (-wal, -shm)';
  };
}

function identityOf(file: string) {
  const { ino, dev } = statSync(file, { throwIfNoEntry: false }) ?? {};
  return { ino, dev };
}

function ignoreFailure(work: () => void): void {
  try {
    work();
  } catch {}
}
