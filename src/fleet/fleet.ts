import { failureCode, RdcpError, storeProblem } from '../errors.ts';
import { type ListedCategory, MAX_LISTED, type OtherCategories } from '../protocol/category-list.ts';
import type { MemberCalls } from '../protocol/member-calls.ts';
import type { DiscoveredSource, FleetSummary } from '../protocol/messages.ts';
import { type Condition, UNWATCHED } from '../report/conditions.ts';
import {
  BEAT_MS,
  type FleetCount,
  type FleetStore,
  type FleetView,
  goneAfter,
  type Instance,
  type Position,
} from '../store/fleet-store.ts';
import type { Clock, Delay, Schedule } from '../time/clock.ts';
import { AnnouncedCalls } from './calls.ts';
import { FleetCategories } from './categories.ts';
import { createRoster, type Entry, goneLater, reached } from './roster.ts';
import type { Fleet, Member } from './types.ts';

/**
 * Delay before a change is acknowledged, in milliseconds. Without it, processes that have applied the change compete for the
 * processor with those that have not: with 20 processes on two busy cores the last gate flips after 6 ms instead of 12, and
 * the response that waits for all takes 20 ms instead of 15. The acknowledgement covers all changes made meanwhile.
 */
const ACKNOWLEDGE_AFTER_MS = 10;
/** Interval for polling the store while waiting for other processes: messages may be lost, and a file sends none. */
const POLL_MS = 25;
const MAX_POLL_MS = 100;
/** How long a process that found no others skips polling, in milliseconds. */
const NO_OTHERS_MS = 5;
/** How long a process may be behind before its health check fails, in milliseconds. */
const CATCH_UP_MS = 1000;
/** Consecutive failed announcements after which the store counts as unreachable. */
const FAILURES_TO_BEGIN = 2;

/** Why a waiting response goes on: `announced` if all may have applied a change, `moved` otherwise. */
type Wake = 'announced' | 'moved';

const NO_OTHERS = { instances: 0, applied: 0, goneAfter: 0 };

export interface FleetOptions {
  readonly store: FleetStore;
  /** Called for each announcement: the SDK may be registered later. */
  readonly self: () => Instance;
  /** The categories of this process; the same array until they change. */
  readonly categories: () => readonly ListedCategory[];
  /** The calls of this process, with at most that many figures. */
  readonly calls: (most: number) => MemberCalls;
  /** Returns the logger of another library that a category controls. */
  readonly sourceOf: (category: string) => DiscoveredSource | undefined;
  /** Called for every list of categories in the store that is malformed. */
  readonly malformed: () => void;
  /** Receives the categories of the other processes when they were read and have changed. */
  readonly others: (categories: OtherCategories) => void;
  /** Whether this process has applied every change it received. */
  readonly current: () => boolean;
  /** How long a response waits for all processes, in milliseconds. */
  readonly acknowledgeTimeoutMs: number;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly schedule: Schedule;
  readonly delay: Delay;
  /** From 0 to 1: the processes of a large fleet do not all announce themselves at the same moment. */
  readonly random: () => number;
  /** Holds while the store is unreachable. @default not watched */
  readonly outage?: Condition;
}

/** Announces this process to its fleet and tracks which changes the others have applied. */
export function createFleet(options: FleetOptions): Fleet {
  const { store, self, current, acknowledgeTimeoutMs, clock, schedule, delay, random, outage = UNWATCHED } = options;
  const roster = createRoster({ self, applied, clock });
  const categories = new FleetCategories({
    store: store.categories,
    selfId: () => self().id,
    own: options.categories,
    sourceOf: options.sourceOf,
    malformed: options.malformed,
  });
  const calls = new AnnouncedCalls(clock);
  const waiters = new Set<(why: Wake) => void>();
  const stops: (() => void)[] = [];
  let position: Position | undefined;
  let announcing: Promise<void> | undefined;
  let again = false;
  let beatMs = BEAT_MS;
  let beatAt = Number.NEGATIVE_INFINITY;
  let cancelSoon: (() => void) | undefined;
  let reachable = true;
  let failures = 0;
  let foundNoOthersAt = Number.NEGATIVE_INFINITY;
  let counted: FleetCount | undefined;
  /** How many others were counted before the store lost its list, and until when those that are missing count as pending. */
  let missing = { instances: 0, until: Number.NEGATIVE_INFINITY };
  let refreshedAt = Number.NEGATIVE_INFINITY;
  let refreshing: Promise<void> | undefined;
  let leaving: Promise<void> | undefined;
  let closed = false;

  /** Returns the applied position. Keeps the last known one while `current` is false. */
  function applied(): Position | undefined {
    if (current()) position = store.position();
    return position;
  }

  async function announceAll(): Promise<void> {
    do {
      again = false;
      try {
        const { digest } = categories;
        const announcement = {
          ...self(),
          ...(digest !== undefined && { categoryDigest: digest }),
          // A reader gets the figures of all: in a large fleet, which is one that announces itself less often, each has fewer.
          calls: options.calls(Math.floor((MAX_LISTED * BEAT_MS) / beatMs)),
        };
        await store.announce(announcement, applied());
        beatMs = store.beatMs?.() ?? BEAT_MS;
        reachable = true;
        if (failures >= FAILURES_TO_BEGIN) outage.end();
        failures = 0;
        // A list that could not be published is published after the next announcement.
        const moved = await categories
          .announced(position?.history, clock.monotonic(), goneAfter(beatMs))
          .catch(() => false);
        if (moved) again = true;
      } catch (error) {
        reachable = false;
        beatMs = BEAT_MS;
        beatAt = Number.NEGATIVE_INFINITY;
        failures += 1;
        // One failure may be a failover.
        if (failures >= FAILURES_TO_BEGIN && !closed) outage.begin(storeProblem(error));
      }
    } while (again && leaving === undefined);
  }

  /** Announces, or schedules one more announcement if one is in progress. */
  function announce(): void {
    if (leaving !== undefined) return;
    again = true;
    announcing ??= announceAll().finally(() => {
      announcing = undefined;
    });
  }

  function leave(): Promise<void> {
    leaving ??= (async () => {
      // If the store is unreachable, this process's entry expires.
      const withdraw = () => store.withdraw(self().id).catch(() => undefined);
      const late = announcing;
      // In this turn: it may be the last one.
      await withdraw();
      if (late !== undefined) await late.then(withdraw);
    })();
    return leaving;
  }

  function announceSoon(): void {
    cancelSoon ??= delay(ACKNOWLEDGE_AFTER_MS, () => {
      cancelSoon = undefined;
      announce();
    });
  }

  function wake(why: Wake = 'moved'): void {
    for (const waiter of waiters) waiter(why);
  }

  /** Announces this process once it is due. A large fleet that did so at the same time would do so ever after. */
  function beat(): void {
    const now = clock.monotonic();
    if (now >= beatAt) {
      announce();
      beatAt = beatMs === BEAT_MS ? now : now + beatMs * (0.8 + 0.2 * random()) - BEAT_MS / 2;
    }
    wake();
  }

  async function look(): Promise<FleetView> {
    try {
      const view = await store.look();
      roster.saw(view);
      const entries = roster.entries();
      calls.read(entries, self().id);
      const alone = entries.length === 1;
      foundNoOthersAt = alone ? clock.monotonic() : Number.NEGATIVE_INFINITY;
      return view;
    } catch (error) {
      reachable = false;
      throw error;
    }
  }

  /** Counts the others that have applied a change; `undefined` if the store does not count. */
  async function count(target?: Position): Promise<FleetCount | undefined> {
    const found = await store.count?.(self().id, target).catch((error: unknown) => {
      reachable = false;
      throw error;
    });
    if (found === undefined) return undefined;
    const now = clock.monotonic();
    if (counted !== undefined && counted.current.history !== found.current.history) {
      missing = { instances: counted.instances, until: now + counted.goneAfter };
    }
    counted = now > missing.until ? found : { ...found, instances: Math.max(found.instances, missing.instances) };
    foundNoOthersAt = counted.instances === 0 ? now : Number.NEGATIVE_INFINITY;
    return counted;
  }

  /** Where the store stands; reads who is there only if the store does not count. */
  async function newest(): Promise<Position> {
    return ((await count()) ?? (await look())).current;
  }

  /** Reads the lists of categories that are new since. */
  async function readCategories(): Promise<void> {
    const instances = roster.entries().map(({ instance }) => instance);
    const others = await categories.read(instances.filter(({ id }) => id !== self().id)).catch(() => undefined);
    if (others !== undefined) options.others(others);
    refreshedAt = clock.monotonic();
  }

  function pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      delay(milliseconds, resolve);
    });
  }

  /** Resolves when a change may have been applied by others or was by this process, or the time is up. */
  function nextChange(milliseconds: number): Promise<Wake> {
    const { promise, resolve } = Promise.withResolvers<Wake>();
    const cancel = delay(milliseconds, () => resolve('moved'));
    waiters.add(resolve);
    return promise.finally(() => {
      cancel();
      waiters.delete(resolve);
    });
  }

  function summaryOf(
    { instances, applied: byOthers, goneAfter }: Omit<FleetCount, 'current'>,
    target: Position,
  ): FleetSummary {
    const own = Number(reached(applied(), target));
    return {
      revision: target.revision,
      instances: instances + 1,
      applied: byOthers + own,
      pending: [],
      ...goneLater(goneAfter),
    };
  }

  /** Adds who has not applied a change, as far as that can be read. */
  async function named(summary: FleetSummary, target: Position): Promise<FleetSummary> {
    await look().catch(() => undefined);
    return { ...summary, pending: roster.summary(target).pending };
  }

  async function acknowledged(given?: Position, meant?: () => readonly string[]) {
    const deadline = clock.monotonic() + acknowledgeTimeoutMs;
    const remaining = () => deadline - clock.monotonic();
    const counts = store.count !== undefined && meant === undefined;
    const byNames = (position: Position) => roster.summary(position, meant?.());
    let target = given;
    /** By the last read; `undefined` before the first. */
    let summarize: ((target: Position) => FleetSummary) | undefined;
    /** Reads who has applied the change, as far as the store answers. */
    async function read(): Promise<void> {
      const tally = counts ? await count(target) : undefined;
      const { current: newest } = tally ?? (await look());
      target ??= newest;
      summarize = tally === undefined ? byNames : (position) => summaryOf(tally, position);
    }
    let pollInterval = POLL_MS;
    // No other process can have acknowledged yet, and polling would delay them.
    const others = counts ? (counted?.instances ?? 0) : roster.entries().length - 1;
    if (others > 0) await pause(Math.min(acknowledgeTimeoutMs, ACKNOWLEDGE_AFTER_MS));
    for (;;) {
      if (target !== undefined && clock.monotonic() - foundNoOthersAt <= NO_OTHERS_MS) {
        summarize ??= counts ? (position) => summaryOf(NO_OTHERS, position) : byNames;
      } else await read().catch(() => undefined);
      const nextPoll = clock.monotonic() + pollInterval;
      pollInterval = Math.min(pollInterval * 1.5, MAX_POLL_MS);
      for (;;) {
        const summary = target && summarize?.(target);
        if (summary !== undefined && summary.applied === summary.instances) return summary;
        if (remaining() <= 0 || closed) return counts && summary && target ? named(summary, target) : summary;
        const wait = Math.min(remaining(), nextPoll - clock.monotonic());
        if (wait <= 0 || (await nextChange(wait)) === 'announced') break;
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
        store.onAnnounced(() => wake('announced')),
      );
      announce();
      newest().catch(() => undefined);
    },

    acknowledged,

    async summary() {
      if (!reachable) return undefined;
      const view = await look().catch(() => undefined);
      if (view === undefined) return undefined;
      await readCategories();
      return roster.summary(view.current);
    },

    async refresh(always = false) {
      if (!reachable) return;
      if (always || clock.monotonic() - refreshedAt >= BEAT_MS) {
        refreshedAt = clock.monotonic();
        refreshing = look().then(readCategories, () => undefined);
      }
      await refreshing;
    },

    has(id, names) {
      const entry = roster.entries().find(({ instance }) => instance.id === id);
      return entry === undefined || categories.has(entry.instance, names);
    },

    candidates: (names) =>
      roster.entries().flatMap(({ instance }) => (categories.has(instance, names) ? [instance] : [])),

    calls,

    get revision() {
      return applied()?.revision;
    },

    async members() {
      const view = await look().catch((cause: unknown) => {
        throw new RdcpError('RDCP_UNAVAILABLE', 'Fleet list unavailable: the store is unreachable', {
          headers: { 'Retry-After': '5' },
          cause,
        });
      });
      await readCategories();
      const now = clock.monotonic();
      const membersOf = (entries: readonly Entry[]) =>
        entries
          .map((entry) =>
            memberOf(entry, { current: view.current, now, categories: categories.partial(entry.instance) }),
          )
          .sort(byHostAndProcess);
      return {
        revision: view.current.revision,
        members: membersOf(roster.entries()),
        lost: membersOf(roster.lost()),
      };
    },

    async check() {
      const target = await newest().catch((cause: unknown) => {
        throw new RdcpError('RDCP_UNAVAILABLE', `fleet list unavailable${failureCode(cause)}`, { cause });
      });
      const deadline = clock.monotonic() + CATCH_UP_MS;
      while (!reached(applied(), target)) {
        const remaining = deadline - clock.monotonic();
        if (remaining <= 0 || closed) throw new RdcpError('RDCP_UNAVAILABLE', 'this process is behind the store');
        await nextChange(remaining);
      }
    },

    leave,

    async close() {
      if (closed) return;
      closed = true;
      for (const stop of stops) stop();
      cancelSoon?.();
      wake();
      await leave();
    },
  };
}

function memberOf(
  { instance, applied, heardAt }: Entry,
  { current, now, categories }: { current: Position; now: number; categories: readonly string[] | undefined },
): Member {
  const { categoryDigest: _, ...rest } = instance;
  return {
    ...rest,
    ...(applied?.history === current.history && { applied: applied.revision }),
    pending: !reached(applied, current),
    silentFor: Math.round(now - heardAt),
    ...(categories !== undefined && { categories }),
  };
}

function byHostAndProcess(a: Member, b: Member): number {
  if (a.host !== b.host) return a.host < b.host ? -1 : 1;
  return a.pid - b.pid || (a.id < b.id ? -1 : 1);
}
