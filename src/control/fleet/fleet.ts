import { BEAT_MS, type FleetStore, type FleetView, type Instance } from '../../store/fleet.ts';
import type { Position } from '../../store/state-store.ts';
import { type ListedCategory, MAX_LISTED, type OtherCategories } from '../../wire/category-list.ts';
import { given } from '../../wire/json-text.ts';
import type { MemberCalls } from '../../wire/member-calls.ts';
import type { FleetSummary } from '../../wire/messages.ts';
import type { Clock, Schedule } from '../../wire/time/clock.ts';
import { CHANGE_REFUSALS } from '../refusals.ts';
import { Acknowledgement } from './acknowledgement.ts';
import { Beat, type BeatOptions } from './beat.ts';
import { AnnouncedCalls } from './calls.ts';
import { FleetCategories, type FleetCategoriesOptions } from './categories.ts';
import { type Entry, Roster, reached } from './roster.ts';

interface FleetOptions
  extends Pick<BeatOptions, 'current' | 'delay' | 'random' | 'outage'>,
    Pick<FleetCategoriesOptions, 'sourceOf' | 'malformed'> {
  readonly store: FleetStore;
  /** Called for each announcement: the SDK may be registered later. */
  readonly self: () => Instance;
  /** The categories of this process; the same array until they change. */
  readonly categories: () => readonly ListedCategory[];
  /** The calls of this process, with at most that many figures. */
  readonly calls: (most: number) => MemberCalls;
  /** Wall time at which the last temporary control of this process ends; `undefined` if there is none. */
  readonly controlsEnd: () => number | undefined;
  /** Receives the categories of the other processes when they were read and have changed. */
  readonly others: (categories: OtherCategories) => void;
  readonly acknowledgeTimeoutMs: number;
  readonly clock: Clock;
  readonly schedule: Schedule;
}

export type Fleet = ReturnType<typeof createFleet>;

/** Announces this process to its fleet and tracks which changes the others have applied. */
export function createFleet(options: FleetOptions) {
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
      ...given({ categoryDigest: digest, controlsEnd }),
      // A reader gets the figures of all: in a large fleet, which is one that announces itself less often, each has fewer.
      calls: options.calls(Math.floor((MAX_LISTED * BEAT_MS) / beatMs)),
    };
  }

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
    start(): void {
      stops.push(
        schedule(BEAT_MS, () => {
          if (!beat.reachable) calls.interrupt();
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

    /** Waits until every process that is heard of has applied a change, up to the configured timeout. */
    acknowledged: (position?: Position, meant?: () => readonly string[]) => acknowledgement.byAll(position, meant),

    /** Returns which processes have applied the newest change, without waiting; `undefined` if the store is unreachable. */
    async summary(): Promise<FleetSummary | undefined> {
      if (!beat.reachable) return undefined;
      const view = await read().catch(() => undefined);
      return view && roster.summary(view.current);
    },

    /**
     * Reads which categories the other processes have, unless that was done within a second. Never rejects: while the store
     * is unreachable, the last ones stay known.
     * @param always even within that second
     */
    async refresh(always = false): Promise<void> {
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

    /**
     * Reads what the others have called, for a history of it. In a large fleet, whose processes announce themselves less
     * often, each reads that for answers only.
     */
    async sample(): Promise<void> {
      if (store.beatMs() === BEAT_MS) await this.refresh();
    },

    /** Whether a process has one of these categories; true if it does not say which it has. */
    has(id: string, names: readonly string[]): boolean {
      const entry = roster.heard().find(({ instance }) => instance.id === id);
      return entry === undefined || categories.has(entry.instance, names);
    },

    candidates: (names: readonly string[]): readonly Instance[] =>
      roster.heard().flatMap(({ instance }) => (categories.has(instance, names) ? [instance] : [])),

    /** What the other processes announced of their calls and lines, by the last read of the fleet. */
    calls: calls as Pick<AnnouncedCalls, 'of' | 'linesOf' | 'instances'>,

    /** The revision that this process has applied; `undefined` before the first. */
    get revision(): number | undefined {
      return beat.applied?.revision;
    },

    /** @throws {RdcpError} `RDCP_UNAVAILABLE` if the store is unreachable */
    async members(): Promise<Members> {
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

    /** Rejects if this process is behind the store's revision and does not catch up in time, or if the store is unreachable. */
    check: () => acknowledgement.byThisProcess(),

    /** Removes this process from the list, at once where the store is a file. Requests are served until `close`. */
    leave: () => beat.leave(),

    async close(): Promise<void> {
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

export interface Member extends Omit<Instance, 'categoryDigest'> {
  /** Revision that the process has applied; absent if it has applied none of the store's current history. */
  readonly applied?: number;
  /** Whether the process has not applied the store's revision. */
  readonly pending: boolean;
  /** Milliseconds since its last announcement. */
  readonly silentFor: number;
  /** The first of its categories that not all processes have; absent if it does not say which it has. */
  readonly categories?: readonly string[];
}

export interface Members {
  /** Who has applied the store's newest revision. */
  readonly summary: FleetSummary;
  /** Sorted by host, then process id. */
  readonly members: readonly Member[];
  /** Those that are not heard of, did not withdraw, and may still run; sorted likewise. */
  readonly lost: readonly Member[];
}

interface ProcessFacts extends Pick<Instance, 'id' | 'host' | 'pid' | 'startedAt'> {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly resource: (name: string) => string | undefined;
  readonly packageName: () => string | undefined;
}

/** OpenTelemetry's name for a service without one; a program may be appended. */
const UNNAMED = 'unknown_service';

/**
 * Returns this process's entry in the fleet list. Its service is that of `OTEL_SERVICE_NAME`, otherwise of the resource, otherwise
 * the program's package.
 */
export function describeInstance({ env, resource, packageName, ...facts }: ProcessFacts): Instance {
  const named = env.OTEL_SERVICE_NAME || resource('service.name');
  const version = resource('service.version');
  const serviceInstanceId = resource('service.instance.id');
  return {
    ...facts,
    service: (named?.startsWith(UNNAMED) ? undefined : named) ?? packageName() ?? UNNAMED,
    ...given({ version, serviceInstanceId }),
  };
}
