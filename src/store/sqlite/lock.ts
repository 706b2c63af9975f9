import { isBusy } from './file.ts';

/** The longest pause between two attempts, in milliseconds. The first one is a twentieth, and each next one doubles. */
const MAX_PAUSE_MS = 20;

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
  work: () => T,
  { monotonic, sleep, random }: RetryTimes,
): Promise<T> {
  const deadline = monotonic() + patienceMs;
  for (let longest = MAX_PAUSE_MS / 20; ; longest = Math.min(MAX_PAUSE_MS, longest * 2)) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || monotonic() >= deadline) throw error;
    }
    await sleep(1 + random() * longest);
  }
}
