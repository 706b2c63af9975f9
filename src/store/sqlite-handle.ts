import type { DatabaseSync } from 'node:sqlite';
import { StoreOutage } from '../errors.ts';
import { beginLogAnew, checkpoint, openSqliteFile, reopenSqliteFile, storeError } from './sqlite-file.ts';
import type { SqliteLock, Urgency } from './sqlite-lock.ts';
import { createLogSync, type LogSync, NO_SYNC } from './sqlite-log-sync.ts';
import { FAULTS, type Fault, type SqliteWatch, watchSqliteFile } from './sqlite-watch.ts';

/** How often a file that is not whole is looked at again, at most, in milliseconds. */
const LOOK_MS = 100;
/** How long others have to notice that the log is gone, before a log that is there counts as begun by one of them. */
const NOTICED_MS = 300;

export interface SqliteHandleOptions<S> {
  readonly path: string;
  /** False for a file that goes when its processes end: nothing is synced to disk. */
  readonly lasting: boolean;
  readonly lock: SqliteLock;
  readonly monotonic: () => number;
  readonly now: () => number;
  /** Prepares the statements of a connection. */
  readonly prepare: (database: DatabaseSync) => S;
  /**
   * Called when the file was opened again, before anything else is done with it.
   * @returns false when it does not hold what was acknowledged: the work that met it is refused then
   */
  readonly reopened: (statements: S, database: DatabaseSync) => boolean;
}

export interface WriteOptions {
  /** Whether it is durable when this resolves. @default true */
  readonly sync?: boolean;
  /** @default 'awaited' */
  readonly urgency?: Urgency;
}

/** The way to the file: one connection, and another one when the file below it became another. */
export interface SqliteHandle<S> {
  /** @throws {StoreOutage} while the file is not whole */
  read<T>(work: (statements: S) => T): Promise<T>;
  /** Runs work as one transaction, which is undone when it throws. Work that returns early has written nothing. */
  write<T>(work: (statements: S) => T, options?: WriteOptions): Promise<T>;
  /** The statements of the connection. @throws {StoreOutage} while the file is not whole */
  statements(): S;
  /** Where the disk had refused to keep the log, brings all of it into the file. False where there was no need. */
  saveLog(): boolean;
  /** Resolves when everything that was written before the call survives a loss of power. */
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

/** What is left of a connection whose file is not whole. */
interface Broken {
  readonly watch: SqliteWatch;
  readonly since: number;
  problem: string;
  /** What was there at the last attempt to open it, and when that was. */
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
      // Makes the log and the shared memory where there were none.
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

  /** The connection, where its files are whole, or could be made so. */
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
   * Ends what must not go on with these files. A file that was taken away may come back as it was, with its log; one that
   * was truncated waits until it was written again.
   */
  function leave(current: Connection<S>, fault: Fault): void {
    const { database, watch } = current;
    if (fault === 'away') throw new StoreOutage(FAULTS.away);
    if (fault === 'truncated') {
      if (!watch.writtenAgain(now())) throw new StoreOutage(FAULTS.truncated);
      // What SQLite would take over from it as it closes belongs to what was there before.
      watch.emptyLog();
    }
    // Nobody will find a log without a name, or without its file. What is in it is saved while somebody has it open; where
    // a file was moved away, it goes along.
    if (fault === 'replaced' || (fault === 'log' && watch.logMissing)) tryTo(() => checkpoint(database, 'TRUNCATE'));
    connection = undefined;
    broken = { watch, since: monotonic(), problem: FAULTS[fault], seen: '', lookedAt: 0 };
    void current.log.close();
    // SQLite takes the log over into the file as the last one closes, unless the file in its place is another.
    tryTo(() => database.close());
    if (fault === 'replaced' || fault === 'truncated') watch.removeLog();
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

  /** Whether the file can be opened: whoever had the old log open has left it, or somebody has begun the next one. */
  function isFree(watch: SqliteWatch, since: number): boolean {
    const fault = watch.fault();
    if (fault === 'away') return false;
    return beginLogAnew(path) || (watch.logReplaced && monotonic() - since >= NOTICED_MS);
  }

  /** After a sync that failed, what is in the log counts as kept only once the database has taken all of it over. */
  function saveLog({ log, database }: Connection<S>): boolean {
    if (log.usable) return false;
    if (checkpoint(database, 'TRUNCATE').busy) throw new StoreOutage('the disk refused to keep what was committed');
    log.begunAnew();
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
      // SQLite itself rolls back on a full disk and on an input/output error; there is nothing left to undo then.
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
