import { statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { StoreOutage } from '../../wire/errors.ts';
import { openSqliteFile, storeError } from './file.ts';
import { type RetryTimes, retryWhileLocked } from './lock.ts';

/** How long work waits for another process's lock, in milliseconds. */
const PATIENCE_MS = 500;

const TIMES: RetryTimes = { monotonic: () => performance.now(), sleep, random: Math.random };

export interface SqliteHandleOptions<S> {
  readonly path: string;
  /** False for a temporary file: nothing is synced to disk. */
  readonly lasting: boolean;
  /** Prepares the statements of the connection. */
  readonly prepare: (database: DatabaseSync) => S;
}

export interface WriteOptions {
  /** Whether the write is durable when this resolves. @default true */
  readonly sync?: boolean;
  /** How long it waits for another process's lock, in milliseconds. @default 500 */
  readonly patienceMs?: number;
}

/** A write that no caller waits for. A power loss may take it, and a lock that is held for long rejects it. */
export const IN_PASSING = { sync: false, patienceMs: 50 } as const satisfies WriteOptions;

/**
 * Access to the file through one connection. Once the file was found removed or replaced, everything rejects
 * until the process is started again: nothing is acknowledged in a file that is not at its path.
 */
export interface SqliteHandle<S> {
  /** @throws {StoreOutage} when the file is not usable any more */
  read<T>(work: (statements: S) => T | Promise<T>): Promise<T>;
  /** Runs work as one transaction, rolled back when it throws. Work that returns early has written nothing. */
  write<T>(work: (statements: S) => T, options?: WriteOptions): Promise<T>;
  /** The statements of the connection. @throws {StoreOutage} when the file is not usable any more */
  statements(): S;
  close(): void;
}

/** @throws {RdcpError} `RDCP_CONFIG_INVALID` when the file cannot be used */
export function createSqliteHandle<S>(options: SqliteHandleOptions<S>): SqliteHandle<S> {
  const { lasting } = options;
  const { database, statements, faultOf, begin, commit, rollback } = connect(options);
  /** Whether SQLite syncs the log at each commit. */
  let syncing = lasting;
  let fault: string | undefined;
  let closed = false;

  /** Closes the connection once its files are not those at the path any more. */
  function isUsable(): boolean {
    if (fault !== undefined) return false;
    fault = faultOf();
    if (fault === undefined) return true;
    // The next start would apply a log that stays behind to whatever file is at the path then.
    ignoreFailure(() => database.exec('PRAGMA wal_checkpoint(TRUNCATE)'));
    ignoreFailure(() => database.close());
    return false;
  }

  function usable(): S {
    if (closed) throw new Error('the SQLite store is closed');
    if (isUsable()) return statements;
    throw new StoreOutage(`the SQLite file ${fault}; restart the process to go on with what is there now`);
  }

  function transaction<T>(work: (statements: S) => T, sync: boolean): T {
    const current = usable();
    if (lasting && sync !== syncing) {
      database.exec(`PRAGMA synchronous = ${sync ? 'FULL' : 'NORMAL'}`);
      syncing = sync;
    }
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

  async function retried<T>(patienceMs: number, work: () => T | Promise<T>): Promise<T> {
    try {
      return await retryWhileLocked(patienceMs, work, TIMES);
    } catch (error) {
      throw storeError(error);
    }
  }

  return {
    statements: usable,
    read: (work) => retried(PATIENCE_MS, () => work(usable())),
    write: (work, { sync = true, patienceMs = PATIENCE_MS } = {}) => retried(patienceMs, () => transaction(work, sync)),
    close() {
      if (closed) return;
      closed = true;
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
