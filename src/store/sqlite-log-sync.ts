import { closeSync, fdatasync, openSync } from 'node:fs';

/** Syncs the write-ahead log of a SQLite file to disk. */
export interface LogSync {
  /**
   * False once a sync failed. A later sync may succeed although the failed one lost data. The log then ends at the gap,
   * and nothing after it would survive.
   */
  readonly usable: boolean;
  /** Called after the log was checkpointed into the database and restarted. */
  restarted(): void;
  /** Resolves when everything committed before the call survives a power loss. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** For a temporary file. */
export const NO_SYNC: LogSync = {
  usable: true,
  restarted() {},
  async sync() {},
  async close() {},
};

/**
 * Syncs on Node's thread pool, so that a slow disk does not block the application. One sync serves every commit made
 * before it began. With `synchronous = NORMAL` SQLite still writes each transaction to the log, and syncs log and
 * database before it restarts the log (https://www.sqlite.org/wal.html, Performance considerations), so only the log
 * needs syncing.
 * @param file path of the database; its log is never replaced while a connection is open
 */
export function createLogSync(file: string): LogSync {
  let descriptor: number | undefined;
  let usable = true;
  let running: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;

  async function begin(): Promise<void> {
    running = next ?? running;
    next = undefined;
    if (!usable) throw new Error('the disk refused to keep what was committed');
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    // There is no log before the first commit. Windows syncs only files opened for writing.
    descriptor ??= openSync(`${file}-wal`, 'r+');
    fdatasync(descriptor, (error) => {
      if (error === null) return resolve();
      usable = false;
      reject(error);
    });
    return promise;
  }

  return {
    get usable() {
      return usable;
    },
    restarted() {
      usable = true;
    },
    sync() {
      if (next === undefined) {
        next = running.then(begin, begin);
        // Background writers do not wait for the result.
        next.catch(() => undefined);
      }
      return next;
    },
    async close() {
      await (next ?? running).catch(() => undefined);
      if (descriptor !== undefined) closeSync(descriptor);
      descriptor = undefined;
    },
  };
}
