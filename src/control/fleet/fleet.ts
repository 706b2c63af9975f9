import type { Condition } from '../../otel/report/conditions.ts';
import { BEAT_MS, type FleetStore, type FleetView, type Instance } from '../../store/fleet.ts';
import type { Position } from '../../store/state-store.ts';
import { type ListedCategory, MAX_LISTED, type OtherCategories } from '../../wire/category-list.ts';
import type { MemberCalls } from '../../wire/member-calls.ts';
import type { DiscoveredSource } from '../../wire/messages.ts';
import type { Clock, Delay, Schedule } from '../../wire/time/clock.ts';
import { CHANGE_REFUSALS } from '../refusals.ts';
import { Acknowledgement } from './acknowledgement.ts';
import { Beat } from './beat.ts';
import { AnnouncedCalls } from './calls.ts';
import { FleetCategories } from './categories.ts';
import { type Entry, Roster, reached } from './roster.ts';
import type { Fleet, Member } from './types.ts';

export interface FleetOptions {
  readonly store: FleetStore;
  /** Called for each announcement: the SDK may be registered later. */
  readonly self: () => Instance;
  /** The categories of this process; the same array until they change. */
  readonly categories: () => readonly ListedCategory[];
  /** The calls of this process, with at most that many figures. */
  readonly calls: (most: number) => MemberCalls;
  /** Wall time at which the last temporary control of this process ends; `undefined` if there is none. */
  readonly controlsEnd: () => number | undefined;
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
  readonly clock: Clock;
  readonly schedule: Schedule;
  readonly delay: Delay;
  /** From 0 to 1: the processes of a large fleet do not all announce themselves at the same moment. */
  readonly random: () => number;
  /** Holds while the store is unreachable. @default not watched */
  readonly outage?: Condition;
}

/** Announces this process to its fleet and tracks which changes the others have applied. */
export function createFleet(options: FleetOptions): Fleet {
  const { store, self, clock, schedule, delay } = options;
  const categories = new FleetCategories({
    store: store.categories,
    selfId: () => self().id,
    own: options.categories,
    sourceOf: options.sourceOf,
    malformed: options.malformed,
  });
  const beat = new Beat({ ...options, categories, announcement });
  const applied = () => beat.applied;
  const roster = new Roster({ store, self, applied, clock, failed: () => (beat.reachable = false) });
  const acknowledgement = new Acknowledgement({
    roster,
    applied,
    timeoutMs: options.acknowledgeTimeoutMs,
    clock,
    delay,
  });
  const calls = new AnnouncedCalls(clock);
  const stops: (() => void)[] = [];
  let refreshedAt = Number.NEGATIVE_INFINITY;
  let refreshing: Promise<void> | undefined;

  function announcement(beatMs: number) {
    const { digest } = categories;
    const controlsEnd = options.controlsEnd();
    return {
      ...self(),
      ...(digest !== undefined && { categoryDigest: digest }),
      ...(controlsEnd !== undefined && { controlsEnd }),
      // A reader gets the figures of all: in a large fleet, which is one that announces itself less often, each has fewer.
      calls: options.calls(Math.floor((MAX_LISTED * BEAT_MS) / beatMs)),
    };
  }

  /** Reads who is there, their calls, and the lists of categories that are new since. */
  async function read(): Promise<FleetView> {
    const view = await roster.look();
    const heard = roster.heard();
    calls.read(heard, self().id, roster.silent().length);
    const others = heard.map(({ instance }) => instance).filter(({ id }) => id !== self().id);
    const found = await categories.read(others).catch(() => undefined);
    if (found !== undefined) options.others(found);
    refreshedAt = clock.monotonic();
    return view;
  }

  return {
    start() {
      stops.push(
        schedule(BEAT_MS, () => {
          beat.tick();
          acknowledgement.wake();
        }),
        store.onMoved(() => {
          beat.acknowledge();
          acknowledgement.wake();
        }),
      );
      beat.announce();
      roster.newest().catch(() => undefined);
    },

    acknowledged: (position, meant) => acknowledgement.byAll(position, meant),

    async summary() {
      if (!beat.reachable) return undefined;
      const view = await read().catch(() => undefined);
      return view && roster.summary(view.current);
    },

    async refresh(always = false) {
      if (!beat.reachable) return;
      if (always || clock.monotonic() - refreshedAt >= BEAT_MS) {
        refreshedAt = clock.monotonic();
        refreshing = read().then(
          () => undefined,
          () => undefined,
        );
      }
      await refreshing;
    },

    has(id, names) {
      const entry = roster.heard().find(({ instance }) => instance.id === id);
      return entry === undefined || categories.has(entry.instance, names);
    },

    candidates: (names) =>
      roster.heard().flatMap(({ instance }) => (categories.has(instance, names) ? [instance] : [])),

    calls,

    get revision() {
      return beat.applied?.revision;
    },

    async members() {
      const { current } = await read().catch((cause: unknown) => {
        throw CHANGE_REFUSALS.noList(cause);
      });
      const now = clock.monotonic();
      const membersOf = (entries: readonly Entry[]) =>
        entries
          .map((entry) => memberOf(entry, { current, now, categories: categories.partial(entry.instance) }))
          .sort(byHostAndProcess);
      return {
        summary: roster.summary(current),
        members: membersOf(roster.heard()),
        lost: membersOf(roster.silent()),
      };
    },

    check: () => acknowledgement.byThisProcess(),

    leave: () => beat.leave(),

    async close() {
      for (const stop of stops.splice(0)) stop();
      acknowledgement.close();
      await beat.close();
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
