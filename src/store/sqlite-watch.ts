import { closeSync, fstatSync, openSync, renameSync, rmSync, type Stats, statSync, truncateSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { bytesOf, checkpoint, pragma } from './sqlite-file.ts';

/** What has become of the files below an open connection, which SQLite does not see. */
export type Fault = 'away' | 'replaced' | 'truncated' | 'log';

/** Each as an operator reads it. */
export const FAULTS: Readonly<Record<Fault, string>> = {
  away: 'the SQLite file was taken away',
  replaced: 'the SQLite file was replaced',
  truncated: 'the SQLite file was truncated',
  log: 'the log of the SQLite file (-wal, -shm) was taken away',
};

/** How long a file that was truncated must have been left alone to count as written again, in milliseconds. */
const SETTLED_MS = 1000;

/** Looks whether the files that a connection has open are still those that the next one would open. */
export interface SqliteWatch {
  /** Costs three looks at a directory. */
  fault(): Fault | undefined;
  /** Differs when the file at its place has become another, or was written. */
  look(): string;
  /** Whether the place of the log is empty, so that no other process can have begun another one. */
  readonly logMissing: boolean;
  /** Whether another log stands in its place, and somebody has written to it. */
  readonly logReplaced: boolean;
  /** Whether a file that was truncated has been written again, and nobody is at it any longer. */
  writtenAgain(now: number): boolean;
  /** Makes sure that no connection takes the log over into a file that it does not belong to. */
  emptyLog(): void;
  /** Removes the log and the shared memory of the connection, unless others stand in their place by now. */
  removeLog(): void;
  close(): void;
}

/** @param database the connection, which has been read through */
export function watchSqliteFile(path: string, database: DatabaseSync): SqliteWatch {
  const logFile = `${path}-wal`;
  const memoryFile = `${path}-shm`;
  const main = statSync(path);
  // Held open, so that its number is not given to another file: SQLite may have closed it when it matters. Neither is a file
  // whose closing would take SQLite's locks away, as closing the database would.
  const descriptor = openSync(logFile, 'r');
  const log = fstatSync(descriptor);
  const memory = statSync(memoryFile);
  let size = main.size;
  let logSize = log.size;
  /** When the truncated file had been written last. */
  let truncatedAt: number | undefined;

  function at(file: string): Stats | undefined {
    return statSync(file, { throwIfNoEntry: false });
  }

  const isLog = (found: Stats | undefined) => isSame(found, log);

  /** Both shrink also by themselves, by a vacuum and by a checkpoint, and are as long as SQLite says then. */
  function isTruncated(found: Stats, foundLog: Stats): boolean {
    const shrunk = found.size < size && found.size < bytesOf(database);
    const logShrunk = foundLog.size < logSize && foundLog.size < logBytes(database);
    size = found.size;
    logSize = foundLog.size;
    if (shrunk || logShrunk) truncatedAt = found.mtimeMs;
    return shrunk || logShrunk;
  }

  return {
    fault() {
      const found = at(path);
      if (found === undefined) return 'away';
      if (!isSame(found, main)) return 'replaced';
      if (truncatedAt !== undefined) return 'truncated';
      const foundLog = at(logFile);
      if (foundLog === undefined || !isLog(foundLog) || !isSame(at(memoryFile), memory)) return 'log';
      return isTruncated(found, foundLog) ? 'truncated' : undefined;
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
      return found !== undefined && found.size > 0 && found.mtimeMs !== truncatedAt && now - found.mtimeMs > SETTLED_MS;
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

/** Bytes of the log that SQLite reads, https://www.sqlite.org/fileformat2.html, section 4.1. */
function logBytes(database: DatabaseSync): number {
  try {
    const frames = checkpoint(database, 'NOOP').log;
    return frames > 0 ? 32 + frames * (24 + Number(pragma(database, 'page_size'))) : 0;
  } catch {
    // SQLite before 3.51 takes over what is there, and meets the end of the log too early.
    return Number.POSITIVE_INFINITY;
  }
}

function isSame(found: Stats | undefined, known: Stats): boolean {
  return found?.ino === known.ino && found.dev === known.dev;
}

/** Another process may have put its own there since it was looked at: what is moved aside cannot be confused. */
function remove(file: string, known: Stats): void {
  const found = statSync(file, { throwIfNoEntry: false });
  if (!isSame(found, known)) return;
  const aside = `${file}.${process.pid}`;
  renameSync(file, aside);
  if (isSame(statSync(aside), known)) rmSync(aside);
  else renameSync(aside, file);
}
