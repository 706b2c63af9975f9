import { type Stats, statSync, truncateSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { pragma } from './file.ts';
import { isBusy } from './lock.ts';

/** The files of an open connection. SQLite does not notice when they are removed or replaced, and writes on. */
export interface SqliteWatch {
  /** Says what happened to the files, for operators; costs three calls of `stat`. */
  fault(): string | undefined;
  /**
   * Called before the connection is closed because of a fault. Saves the log into the file where that is the file that
   * it belongs to, and leaves no log behind that the next start would apply to another file.
   */
  leaveLog(): void;
}

/** @param database the connection, after a first read */
export function watchSqliteFile(path: string, database: DatabaseSync): SqliteWatch {
  const logFile = `${path}-wal`;
  const memoryFile = `${path}-shm`;
  const main = statSync(path);
  const log = statSync(logFile);
  const memory = statSync(memoryFile);
  let size = main.size;
  let truncated = false;

  /** A checkpoint after a vacuum shrinks the file too, but never below what SQLite counts on. */
  function isTruncated(found: Stats): boolean {
    const shrunk = found.size < size;
    size = found.size;
    try {
      return shrunk && size < Number(pragma(database, 'page_count')) * Number(pragma(database, 'page_size'));
    } catch (error) {
      return !isBusy(error);
    }
  }

  return {
    fault() {
      const found = at(path);
      if (found === undefined) return 'is missing';
      if (!isSame(found, main)) return 'was replaced';
      if (!isSame(at(logFile), log) || !isSame(at(memoryFile), memory)) return 'has lost its log (-wal, -shm)';
      truncated = isTruncated(found);
      return truncated ? 'was truncated' : undefined;
    },
    leaveLog() {
      const foundLog = at(logFile);
      if (truncated) {
        truncateSync(logFile);
      } else if (foundLog === undefined || !isSame(at(path), main)) {
        database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      }
    },
  };
}

function at(file: string): Stats | undefined {
  return statSync(file, { throwIfNoEntry: false });
}

function isSame(found: Stats | undefined, known: Stats): boolean {
  return found?.ino === known.ino && found.dev === known.dev;
}
