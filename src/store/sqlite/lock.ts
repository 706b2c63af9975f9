import type { DatabaseSync } from 'node:sqlite';

/** A primary result code, https://www.sqlite.org/rescode.html. */
export const SQLITE_BUSY = 5;
/** The longest pause between two attempts, in milliseconds. The first one is a twentieth, and each next one doubles. */
const MAX_PAUSE_MS = 20;

/** The primary result code of SQLite's error; `undefined` for any other. */
export function primaryCode(error: unknown): number | undefined {
  const code = error instanceof Error ? Reflect.get(error, 'errcode') : undefined;
  return typeof code === 'number' ? code & 0xff : undefined;
}

/** Whether a statement failed because another process holds the lock. */
export function isBusy(error: unknown): boolean {
  return primaryCode(error) === SQLITE_BUSY;
}

/**
 * Switches a new file to a write-ahead log. SQLite does not always wait for the lock that this needs, whatever its busy
 * timeout, so it is repeated until the patience is over. Blocks the thread: it is for opening at the start.
 * @returns false on a file system that SQLite cannot share between processes
 */
export function switchToWal(database: DatabaseSync, patienceMs: number): boolean {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    try {
      return database.prepare('PRAGMA journal_mode = WAL').get()?.journal_mode === 'wal';
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}

export interface RetryTimes {
  readonly monotonic: () => number;
  /** Keeps the process alive, because a caller waits for the work. */
  readonly sleep: (milliseconds: number) => Promise<unknown>;
  /** Returns a number from 0 to 1, for jitter: waiting processes do not retry at the same moment. */
  readonly random: () => number;
}

/**
 * Repeats work that meets another process's lock; rejects with SQLite's error when the patience is over. SQLite would
 * wait in the calling thread, which is the application's. Here an attempt never waits, and the event loop runs between
 * attempts.
 */
export async function retryWhileLocked<T>(
  patienceMs: number,
  work: () => T | Promise<T>,
  { monotonic, sleep, random }: RetryTimes,
): Promise<T> {
  const deadline = monotonic() + patienceMs;
  for (let longest = MAX_PAUSE_MS / 20; ; longest = Math.min(MAX_PAUSE_MS, longest * 2)) {
    try {
      return await work();
    } catch (error) {
      if (!isBusy(error) || monotonic() >= deadline) throw error;
    }
    await sleep(1 + random() * longest);
  }
}
