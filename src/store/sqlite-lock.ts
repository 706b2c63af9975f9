import { isBusy } from './sqlite-file.ts';

/** How long an awaited write retries to get the lock, in milliseconds. */
const AWAITED_MS = 500;
/** The same for a background write. */
const BACKGROUND_MS = 50;
/** How long background writes are skipped after one failed to get the lock, in milliseconds. */
const AWAY_MS = 1000;
/** The longest pause between two attempts, in milliseconds. The first one is a twentieth, and each next one doubles. */
const MAX_PAUSE_MS = 20;

export interface LockOptions {
  readonly monotonic: () => number;
  /** Keeps the process alive, because a caller waits for the write. */
  readonly sleep: (milliseconds: number) => Promise<unknown>;
  /** Returns a number from 0 to 1, for jitter: waiting processes do not retry at the same moment. */
  readonly random: () => number;
}

/** Whether a caller waits for a write, asks whether writes are accepted, or does not wait at all. */
export type Urgency = 'awaited' | 'probe' | 'background';

/**
 * Waits for another process's lock. SQLite would block the calling thread, which is the application's. Here an attempt
 * never blocks, and the event loop runs between attempts.
 */
export interface SqliteLock {
  /**
   * Retries a write while the file is locked; rejects with SQLite's error after half a second, or 50 ms for background
   * work. For a second after such a rejection, a probe is tried once and background work not at all.
   */
  write<T>(work: () => T, urgency?: Urgency): Promise<T>;
  /** The same for a read, which meets a lock only while the write-ahead log is reset. */
  read<T>(work: () => T): Promise<T>;
}

export function createSqliteLock({ monotonic, sleep, random }: LockOptions): SqliteLock {
  let away: { readonly until: number; readonly error: unknown } | undefined;

  async function tryFor<T>(milliseconds: number, work: () => T): Promise<T> {
    const deadline = monotonic() + milliseconds;
    for (let longest = MAX_PAUSE_MS / 20; ; longest = Math.min(MAX_PAUSE_MS, longest * 2)) {
      try {
        return work();
      } catch (error) {
        if (!isBusy(error) || monotonic() >= deadline) throw error;
      }
      await sleep(1 + random() * longest);
    }
  }

  return {
    async write(work, urgency = 'awaited') {
      const isAway = away !== undefined && monotonic() < away.until;
      if (isAway && urgency === 'background') throw away?.error;
      const patience = urgency === 'awaited' ? AWAITED_MS : isAway ? 0 : BACKGROUND_MS;
      try {
        const result = await tryFor(patience, work);
        away = undefined;
        return result;
      } catch (error) {
        if (isBusy(error)) away = { until: monotonic() + AWAY_MS, error };
        throw error;
      }
    },
    read: (work) => tryFor(AWAITED_MS, work),
  };
}
