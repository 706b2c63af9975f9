import { isBusy } from './sqlite-file.ts';

/** How long a write that somebody waits for tries to get the lock of the file, in milliseconds. */
const AWAITED_MS = 500;
/** The same for a write that nobody waits for. */
const BACKGROUND_MS = 50;
/** For how long no such write is tried after one that did not get the lock, in milliseconds. */
const AWAY_MS = 1000;
/** The longest pause between two attempts, in milliseconds. The first is a twentieth of it, each next one twice as long. */
const MAX_PAUSE_MS = 20;

export interface LockOptions {
  readonly monotonic: () => number;
  /** Keeps the process alive: somebody waits for what is written then. */
  readonly sleep: (milliseconds: number) => Promise<unknown>;
  /** From 0 to 1, for the pauses: processes that wait for one another do not come back at the same moment. */
  readonly random: () => number;
}

/** Who waits for a write: a caller, somebody who asks whether writes are taken, or nobody. */
export type Urgency = 'awaited' | 'probe' | 'background';

/**
 * Waits for a lock of another process. SQLite would wait in the thread that called it, which is the application's: here an
 * attempt never waits, and between two of them the event loop goes on.
 */
export interface SqliteLock {
  /**
   * Tries a write until it does not meet the lock; rejects with SQLite's error after half a second. For what nobody waits
   * for that is 50 ms; for a second after a write that gave up, a probe is tried once and background work not at all.
   */
  write<T>(work: () => T, urgency?: Urgency): Promise<T>;
  /** The same for a read, which meets a lock only while the log of changes is made anew. */
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
