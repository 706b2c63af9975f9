import { closeSync, fstatSync, openSync, renameSync, rmSync, type Stats, statSync, truncateSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { bytesOf, checkpoint, pragma } from './sqlite-file.ts';
import { canFollow, type Stamp, stampOf, stampOfFile } from './sqlite-stamp.ts';

/** What happened to the files below an open connection, which SQLite does not notice. */
export type Fault = 'away' | 'replaced' | 'truncated' | 'overwritten' | 'log';

/** The message for operators. */
export const FAULTS: Readonly<Record<Fault, string>> = {
  away: 'the SQLite file is missing',
  replaced: 'the SQLite file was replaced',
  truncated: 'the SQLite file was truncated',
  overwritten: 'the SQLite file was overwritten',
  log: 'the log of the SQLite file (-wal, -shm) was removed or replaced',
};

/** How long a truncated or overwritten file must stay unmodified before it counts as rewritten, in milliseconds. */
const SETTLED_MS = 1000;

/** Pause before a file that could not be read is read again, in milliseconds: each commit asks. */
const UNREAD_MS = 100;

/** Checks whether a connection's open files are still those at the path. */
export interface SqliteWatch {
  /** Costs three calls of `stat`; after each checkpoint the file is also read once. */
  fault(): Fault | undefined;
  /** A fingerprint that changes when the file at the path is replaced or written. */
  look(): string;
  /** Whether the log's path is empty, so that no other process can have begun a new log. */
  readonly logMissing: boolean;
  /** Whether another log is at the path and has been written to. */
  readonly logReplaced: boolean;
  /** Whether a truncated or overwritten file was rewritten and is no longer being modified. */
  writtenAgain(now: number): boolean;
  /** Empties the log, so that no connection applies it to a file that it does not belong to. */
  emptyLog(): void;
  /** Removes the connection's log and shared memory, unless others have replaced them. */
  removeLog(): void;
  close(): void;
}

/** @param database the connection, after a first read */
export function watchSqliteFile(path: string, database: DatabaseSync): SqliteWatch {
  const logFile = `${path}-wal`;
  const memoryFile = `${path}-shm`;
  const main = statSync(path);
  // Held open, so that its inode is not reused while SQLite may have closed it. SQLite keeps no locks on the log, so
  // closing this descriptor releases none.
  const descriptor = openSync(logFile, 'r');
  const log = fstatSync(descriptor);
  const memory = statSync(memoryFile);
  let size = main.size;
  let logSize = log.size;
  /** Modification time of the truncated file. */
  let truncatedAt: number | undefined;
  /** What the file, without its log, was known to hold at its modification time. */
  let known = { at: main.mtimeMs, stamp: stampOfFile(path) };
  let overwritten = false;
  let unreadAt = Number.NEGATIVE_INFINITY;

  function at(file: string): Stats | undefined {
    return statSync(file, { throwIfNoEntry: false });
  }

  const isLog = (found: Stats | undefined) => isSame(found, log);

  /** A vacuum or a checkpoint shrinks the files too, but to the sizes that SQLite reports. */
  function isTruncated(found: Stats, foundLog: Stats): boolean {
    const shrunk = found.size < size && found.size < bytesOf(database);
    const logShrunk = foundLog.size < logSize && foundLog.size < logBytes(database);
    size = found.size;
    logSize = foundLog.size;
    if (shrunk || logShrunk) truncatedAt = found.mtimeMs;
    return shrunk || logShrunk;
  }

  /**
   * SQLite writes to the file in checkpoints alone, which bring it forward to what the database holds; another program may
   * write anything, and SQLite goes on with its log as if nothing had happened.
   */
  function isOverwritten({ mtimeMs }: Stats): boolean {
    if (overwritten || mtimeMs === known.at || performance.now() - unreadAt < UNREAD_MS) return overwritten;
    const stamp = stampOfFile(path);
    // The log stays until another database is there: somebody may repair the file with it.
    if (stamp === 'foreign') return true;
    const current = stamp && tryStamp(database);
    if (stamp === undefined || current === undefined) {
      unreadAt = performance.now();
      return false;
    }
    const earlier = known.stamp;
    overwritten = typeof earlier === 'object' && !canFollow(stamp, earlier, current);
    known = { at: mtimeMs, stamp };
    return overwritten;
  }

  return {
    fault() {
      const found = at(path);
      if (found === undefined) return 'away';
      if (!isSame(found, main)) return 'replaced';
      if (truncatedAt !== undefined) return 'truncated';
      const foundLog = at(logFile);
      if (foundLog === undefined || !isLog(foundLog) || !isSame(at(memoryFile), memory)) return 'log';
      if (isTruncated(found, foundLog)) return 'truncated';
      return isOverwritten(found) ? 'overwritten' : undefined;
    },
    look() {
      const found = at(path);
      return found === undefined ? '' : `${found.dev} ${found.ino} ${found.size} ${found.mtimeMs}`;
    },
    get logMissing() {
      return at(logFile) === undefined;
    },
    get logReplaced() {
      const found = at(logFile);
      return found !== undefined && found.size > 0 && !isLog(found);
    },
    writtenAgain(now) {
      const found = at(path);
      if (found === undefined || found.size === 0 || (truncatedAt === undefined && !overwritten)) return false;
      return found.mtimeMs !== truncatedAt && now - found.mtimeMs > SETTLED_MS;
    },
    emptyLog() {
      if (isLog(at(logFile))) truncateSync(logFile);
    },
    removeLog() {
      remove(logFile, log);
      remove(memoryFile, memory);
    },
    close: () => closeSync(descriptor),
  };
}

function tryStamp(database: DatabaseSync): Stamp | undefined {
  try {
    return stampOf(database);
  } catch {
    return undefined;
  }
}

/** Bytes of the log that SQLite reads, https://www.sqlite.org/fileformat2.html, section 4.1. */
function logBytes(database: DatabaseSync): number {
  try {
    const frames = checkpoint(database, 'NOOP').log;
    return frames > 0 ? 32 + frames * (24 + Number(pragma(database, 'page_size'))) : 0;
  } catch {
    // SQLite before 3.51 checkpoints instead of measuring, and finds the end of the log too early.
    return Number.POSITIVE_INFINITY;
  }
}

function isSame(found: Stats | undefined, known: Stats): boolean {
  return found?.ino === known.ino && found.dev === known.dev;
}

/** Moves the file aside first: another process may have replaced it since the check. */
function remove(file: string, known: Stats): void {
  const found = statSync(file, { throwIfNoEntry: false });
  if (!isSame(found, known)) return;
  const aside = `${file}.${process.pid}`;
  renameSync(file, aside);
  if (isSame(statSync(aside), known)) rmSync(aside);
  else renameSync(aside, file);
}
