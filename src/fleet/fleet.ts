import type { Clock, Delay, Schedule } from '../clock.ts';
import { type Condition, UNWATCHED } from '../conditions.ts';
import { failureCode, RdcpError, storeProblem } from '../errors.ts';
import { BEAT_MS, type FleetStore, type FleetView, type Instance, type Position } from '../store/fleet-store.ts';
import { createRoster, type Entry, reached } from './roster.ts';
import type { Fleet, Member } from './types.ts';

/**
 * How long after a change it is acknowledged, in milliseconds. On a busy host those that have applied it would otherwise take
 * the processor from those that have not: with 20 processes on two busy cores the last gate followed after 12 ms, and after
 * 6 ms with this pause; the answer that counts them all came after 15 ms, and now after 20. What else changes meanwhile is
 * acknowledged along.
 */
const ACKNOWLEDGE_AFTER_MS = 10;
/** How often a process that waits for others looks at the store itself: messages may be lost, and a file sends none. */
const LOOK_MS = 25;
const LONGEST_LOOK_MS = 100;
/** For how long a process that found itself alone does not look again to see who has applied a change, in milliseconds. */
const ALONE_MS = 5;
/** How long a process may be behind before its health says so, in milliseconds. */
const CATCH_UP_MS = 1000;
/** Announcements in a row that a store may fail to take without being called unreachable. */
const MISSED_TO_BEGIN = 2;

export interface FleetOptions {
  readonly store: FleetStore;
  readonly self: Instance;
  /** Whether what the store told its subscribers is applied in this process, without doubt. */
  readonly current: () => boolean;
  /** Milliseconds that an answer waits for all processes. */
  readonly acknowledgeTimeoutMs: number;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly schedule: Schedule;
  readonly delay: Delay;
  /** Holds while the store does not answer. @default not watched */
  readonly outage?: Condition;
}

/** Keeps this process on the list of its fleet, and tells how far the others are. */
export function createFleet(options: FleetOptions): Fleet {
  const { store, self, current, acknowledgeTimeoutMs, clock, schedule, delay, outage = UNWATCHED } = options;
  const roster = createRoster({ self, applied, clock });
  const waiters = new Set<() => void>();
  const stops: (() => void)[] = [];
  let position: Position | undefined;
  let announcing: Promise<void> | undefined;
  let again = false;
  let cancelSoon: (() => void) | undefined;
  let reachable = true;
  let missed = 0;
  let foundAloneAt = Number.NEGATIVE_INFINITY;
  let closed = false;

  /** While it is in doubt what is applied here, it is what it was before the doubt. */
  function applied(): Position | undefined {
    if (current()) position = store.position();
    return position;
  }

  async function announceAll(): Promise<void> {
    do {
      again = false;
      try {
        await store.announce(self, applied());
        reachable = true;
        if (missed >= MISSED_TO_BEGIN) outage.end();
        missed = 0;
      } catch (error) {
        reachable = false;
        missed += 1;
        // A store that fails over answers the next one.
        if (missed >= MISSED_TO_BEGIN && !closed) outage.begin(storeProblem(error));
      }
    } while (again && !closed);
  }

  /** One announcement at a time; what came meanwhile is in the next. */
  function announce(): void {
    if (closed) return;
    again = true;
    announcing ??= announceAll().finally(() => {
      announcing = undefined;
    });
  }

  function announceSoon(): void {
    cancelSoon ??= delay(ACKNOWLEDGE_AFTER_MS, () => {
      cancelSoon = undefined;
      announce();
    });
  }

  function wake(): void {
    for (const waiter of waiters) waiter();
  }

  function beat(): void {
    announce();
    wake();
  }

  async function look(): Promise<FleetView> {
    try {
      const view = await store.look();
      roster.saw(view);
      const alone = view.instances.every(({ id }) => id === self.id);
      foundAloneAt = alone ? clock.monotonic() : Number.NEGATIVE_INFINITY;
      return view;
    } catch (error) {
      reachable = false;
      throw error;
    }
  }

  function pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      delay(milliseconds, resolve);
    });
  }

  /** Until something was announced, or moved here, or the time is up. */
  function news(milliseconds: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = delay(milliseconds, resolve);
    waiters.add(resolve);
    return promise.finally(() => {
      cancel();
      waiters.delete(resolve);
    });
  }

  async function acknowledged(given?: Position) {
    const deadline = clock.monotonic() + acknowledgeTimeoutMs;
    const remaining = () => deadline - clock.monotonic();
    let target = given;
    let seen = false;
    let betweenLooks = LOOK_MS;
    // Nobody else can have acknowledged it yet, and looking takes time from those who are to apply it.
    if (roster.entries().length > 1) await pause(Math.min(acknowledgeTimeoutMs, ACKNOWLEDGE_AFTER_MS));
    for (;;) {
      if (target === undefined || clock.monotonic() - foundAloneAt > ALONE_MS) {
        const view = await look().catch(() => undefined);
        seen ||= view !== undefined;
        target ??= view?.current;
      } else seen = true;
      const nextLook = clock.monotonic() + betweenLooks;
      betweenLooks = Math.min(betweenLooks * 1.5, LONGEST_LOOK_MS);
      for (;;) {
        const summary = seen && target !== undefined ? roster.summary(target) : undefined;
        if (summary?.pending.length === 0 || remaining() <= 0 || closed) return summary;
        const wait = Math.min(remaining(), nextLook - clock.monotonic());
        if (wait <= 0) break;
        await news(wait);
      }
    }
  }

  return {
    start() {
      stops.push(
        schedule(BEAT_MS, beat),
        store.onMoved(() => {
          if (current()) announceSoon();
          wake();
        }),
        store.onAnnounced((id, announced) => {
          roster.heard(id, announced);
          wake();
        }),
      );
      announce();
      look().catch(() => undefined);
    },

    acknowledged,

    async summary() {
      if (!reachable) return undefined;
      const view = await look().catch(() => undefined);
      return view && roster.summary(view.current);
    },

    async members() {
      const view = await look().catch((cause: unknown) => {
        throw new RdcpError('RDCP_UNAVAILABLE', 'The store cannot be asked who is there', {
          headers: { 'Retry-After': '5' },
          cause,
        });
      });
      const now = clock.monotonic();
      const members = roster.entries().map((entry) => memberOf(entry, view.current, now));
      return { revision: view.current.revision, members: members.sort(byHostAndProcess) };
    },

    async check() {
      const { current: target } = await look().catch((cause: unknown) => {
        throw new RdcpError('RDCP_UNAVAILABLE', `the list of processes cannot be read${failureCode(cause)}`, { cause });
      });
      const deadline = clock.monotonic() + CATCH_UP_MS;
      while (!reached(applied(), target)) {
        const remaining = deadline - clock.monotonic();
        if (remaining <= 0 || closed) throw new RdcpError('RDCP_UNAVAILABLE', 'this process is behind the store');
        await news(remaining);
      }
    },

    async close() {
      if (closed) return;
      closed = true;
      for (const stop of stops) stop();
      cancelSoon?.();
      wake();
      await announcing;
      // A store that is gone forgets this process by its silence.
      await store.withdraw(self.id).catch(() => undefined);
    },
  };
}

function memberOf({ instance, applied, heardAt }: Entry, current: Position, now: number): Member {
  return {
    ...instance,
    ...(applied?.history === current.history && { applied: applied.revision }),
    pending: !reached(applied, current),
    silentFor: Math.round(now - heardAt),
  };
}

function byHostAndProcess(a: Member, b: Member): number {
  if (a.host !== b.host) return a.host < b.host ? -1 : 1;
  return a.pid - b.pid || (a.id < b.id ? -1 : 1);
}
