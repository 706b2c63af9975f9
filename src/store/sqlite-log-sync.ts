import { closeSync, fdatasync, openSync } from 'node:fs';

/** Brings the write-ahead log of a SQLite file onto the disk. */
export interface LogSync {
  /**
   * False once the disk refused. A later sync may succeed although it lost what the refused one was for, and with it the log
   * ends there: nothing that follows in it would survive.
   */
  readonly usable: boolean;
  /** The log was emptied into the database. */
  begunAnew(): void;
  /** Resolves when everything that was committed before the call survives a loss of power. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** For a file that nobody reads after its processes have ended. */
export const NO_SYNC: LogSync = {
  usable: true,
  begunAnew() {},
  async sync() {},
  async close() {},
};

/**
 * Syncs in a thread of Node's pool, so that a slow disk does not keep the application waiting; one sync serves all that
 * was committed before it began. SQLite writes a transaction into the log at commit also when it does not sync
 * (`synchronous = NORMAL`, https://www.sqlite.org/wal.html, Performance considerations), and syncs log and database by
 * itself before it begins the log anew: so to sync the log is all that is left to do.
 * @param file the path of the database. While a connection to it is open its log is never another file.
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
    // There is no log before the first commit. Windows syncs only what may be written.
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
    begunAnew() {
      usable = true;
    },
    sync() {
      if (next === undefined) {
        next = running.then(begin, begin);
        // Some who write wait for nobody.
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
