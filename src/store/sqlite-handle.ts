import type { DatabaseSync } from 'node:sqlite';
import { StoreOutage } from '../errors.ts';
import { checkpoint, openSqliteFile, reopenSqliteFile, resetLog, storeError } from './sqlite-file.ts';
import type { SqliteLock, Urgency } from './sqlite-lock.ts';
import { createLogSync, type LogSync, NO_SYNC } from './sqlite-log-sync.ts';
import { FAULTS, type Fault, type SqliteWatch, watchSqliteFile } from './sqlite-watch.ts';

/** Shortest interval between checks of an incomplete file, in milliseconds. */
const LOOK_MS = 100;
/**
 * How long other processes have to notice that the log is gone. After that, an existing log counts as a new one begun
 * by one of them.
 */
const NOTICED_MS = 300;

export interface SqliteHandleOptions<S> {
  readonly path: string;
  /** False for a temporary file: nothing is synced to disk. */
  readonly lasting: boolean;
  readonly lock: SqliteLock;
  readonly monotonic: () => number;
  readonly now: () => number;
  /** Prepares the statements of a connection. */
  readonly prepare: (database: DatabaseSync) => S;
  /**
   * Called after the file was reopened, before any other work.
   * @returns false when acknowledged changes are missing; the current operation is then rejected
   */
  readonly reopened: (statements: S, database: DatabaseSync) => boolean;
}

export interface WriteOptions {
  /** Whether the write is durable when this resolves. @default true */
  readonly sync?: boolean;
  /** @default 'awaited' */
  readonly urgency?: Urgency;
}

/** Access to the file: one connection, replaced when the file below it was replaced. */
export interface SqliteHandle<S> {
  /** @throws {StoreOutage} while the file is missing or incomplete */
  read<T>(work: (statements: S) => T): Promise<T>;
  /** Runs work as one transaction, rolled back when it throws. Work that returns early has written nothing. */
  write<T>(work: (statements: S) => T, options?: WriteOptions): Promise<T>;
  /** The statements of the connection. @throws {StoreOutage} while the file is missing or incomplete */
  statements(): S;
  /** After a failed sync, checkpoints the whole log into the file. Returns false when there was no need. */
  saveLog(): boolean;
  /** Resolves when everything written before the call survives a power loss. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

interface Connection<S> {
  readonly database: DatabaseSync;
  readonly statements: S;
  readonly watch: SqliteWatch;
  readonly log: LogSync;
  readonly begin: () => void;
  readonly end: () => void;
  readonly abort: () => void;
  /** Whether SQLite syncs the log at each commit. */
  syncing: boolean;
}

/** A connection whose file is missing or incomplete. */
interface Broken {
  readonly watch: SqliteWatch;
  readonly since: number;
  problem: string;
  /** What the last attempt to open the file found, and when. */
  seen: string;
  lookedAt: number;
}

/** @throws {RdcpError} `RDCP_CONFIG_INVALID` when the file cannot be used */
export function createSqliteHandle<S>(options: SqliteHandleOptions<S>): SqliteHandle<S> {
  const { path, lasting, lock, monotonic, now, prepare, reopened } = options;
  let connection: Connection<S> | undefined = connectionOf(openSqliteFile(path));
  let broken: Broken | undefined;
  let closed = false;

  function connectionOf(database: DatabaseSync): Connection<S> {
    try {
      if (!lasting) database.exec('PRAGMA synchronous = OFF');
      // Creates the log and the shared memory if missing.
      database.prepare('SELECT count(*) FROM sqlite_schema').get();
      const [begin, end, abort] = ['BEGIN IMMEDIATE', 'COMMIT', 'ROLLBACK'].map((sql) => database.prepare(sql));
      return {
        database,
        statements: prepare(database),
        watch: watchSqliteFile(path, database),
        log: lasting ? createLogSync(path) : NO_SYNC,
        begin: () => void begin?.run(),
        end: () => void end?.run(),
        abort: () => void abort?.run(),
        syncing: lasting,
      };
    } catch (error) {
      database.close();
      throw error;
    }
  }

  /** The connection, reopened if its files were replaced. */
  function whole(): Connection<S> {
    if (closed) throw new Error('the SQLite store is closed');
    if (connection !== undefined) {
      const fault = connection.watch.fault();
      if (fault === undefined) return connection;
      leave(connection, fault);
    }
    if (broken !== undefined && isNews(broken)) reopen(broken);
    if (connection === undefined) throw new StoreOutage(broken?.problem ?? FAULTS.away);
    return connection;
  }

  function isNews(left: Broken): boolean {
    const { seen, lookedAt } = left;
    left.seen = left.watch.look();
    if (left.seen === seen && monotonic() - lookedAt < LOOK_MS) return false;
    left.lookedAt = monotonic();
    return true;
  }

  /**
   * Gives up a connection whose files changed below it. A missing file may come back with its log, so its connection is
   * kept; a truncated or overwritten one is given up once it is no longer written.
   */
  function leave(current: Connection<S>, fault: Fault): void {
    const { database, watch } = current;
    if (fault === 'away') throw new StoreOutage(FAULTS.away);
    if (fault === 'truncated' || fault === 'overwritten') {
      if (!watch.writtenAgain(now())) throw new StoreOutage(FAULTS[fault]);
      // The log belongs to the old content, so SQLite must not apply it when it closes.
      watch.emptyLog();
    }
    // A log that lost its name or its file can no longer be found, so it is saved while a process has it open. A
    // renamed file keeps its log.
    if (fault === 'replaced' || (fault === 'log' && watch.logMissing)) tryTo(() => checkpoint(database, 'TRUNCATE'));
    connection = undefined;
    broken = { watch, since: monotonic(), problem: FAULTS[fault], seen: '', lookedAt: 0 };
    void current.log.close();
    // On close SQLite checkpoints the log into the file, unless another file stands in its place.
    tryTo(() => database.close());
    if (fault !== 'log') watch.removeLog();
  }

  function reopen(left: Broken): void {
    const { watch, since } = left;
    let next: Connection<S> | undefined;
    let holds: boolean;
    try {
      if (!isFree(watch, since)) return;
      next = connectionOf(reopenSqliteFile(path));
      holds = reopened(next.statements, next.database);
    } catch (error) {
      if (error instanceof StoreOutage) left.problem = error.message;
      if (next !== undefined) shut(next);
      return;
    }
    watch.close();
    connection = next;
    broken = undefined;
    if (!holds) throw new StoreOutage(`${left.problem}; what it holds now was read again`);
  }

  function shut({ watch, database }: Connection<S>): void {
    watch.close();
    database.close();
  }

  /** Whether the file can be opened: every process has closed the old log, or one has begun a new one. */
  function isFree(watch: SqliteWatch, since: number): boolean {
    const fault = watch.fault();
    if (fault === 'away') return false;
    return resetLog(path) || (watch.logReplaced && monotonic() - since >= NOTICED_MS);
  }

  /** After a failed sync, the log is trusted again only once the database has absorbed all of it. */
  function saveLog({ log, database }: Connection<S>): boolean {
    if (log.usable) return false;
    if (checkpoint(database, 'TRUNCATE').busy) throw new StoreOutage('the disk refused to keep what was committed');
    log.restarted();
    return true;
  }

  function transaction<T>(work: (statements: S) => T, sync: boolean): T {
    const current = whole();
    saveLog(current);
    if (lasting && sync !== current.syncing) {
      current.database.exec(`PRAGMA synchronous = ${sync ? 'FULL' : 'NORMAL'}`);
      current.syncing = sync;
    }
    current.begin();
    try {
      const result = work(current.statements);
      current.end();
      return result;
    } catch (error) {
      // SQLite itself rolls back on a full disk or an I/O error; there is nothing left to roll back then.
      tryTo(current.abort);
      throw error;
    }
  }

  return {
    statements: () => whole().statements,
    async read(work) {
      try {
        return await lock.read(() => work(whole().statements));
      } catch (error) {
        throw storeError(error);
      }
    },
    async write(work, { sync = true, urgency } = {}) {
      try {
        return await lock.write(() => transaction(work, sync), urgency);
      } catch (error) {
        throw storeError(error);
      }
    },
    saveLog: () => saveLog(whole()),
    async sync() {
      const current = whole();
      saveLog(current);
      await current.log.sync();
    },
    async close() {
      if (closed) return;
      closed = true;
      broken?.watch.close();
      if (connection === undefined) return;
      await connection.log.close();
      shut(connection);
    },
  };
}

function tryTo(work: () => unknown): void {
  try {
    work();
  } catch {}
}
