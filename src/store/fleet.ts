import { hostname } from 'node:os';
import type { MemberCalls } from '../wire/member-calls.ts';
import type { FleetMember } from '../wire/messages.ts';
import type { ListedRecord, RecordWrite } from './records.ts';
import type { Position, StateStore } from './state-store.ts';
import { StoredValues } from './stored-values.ts';

/** One process that shares a store with others. */
export interface Instance
  extends Pick<FleetMember, 'id' | 'host' | 'pid' | 'service' | 'version' | 'serviceInstanceId'> {
  readonly startedAt: number;
  /** Digest of its list in {@link CategoryLists}; absent while it has none there. */
  readonly categoryDigest?: string;
}

export interface Announcement extends Instance {
  /** Its calls; absent where its release does not say. */
  readonly calls?: MemberCalls | undefined;
  /** Wall time at which the last of its temporary controls ends, milliseconds since the epoch; absent if there is none. */
  readonly controlsEnd?: number;
}

/** What an instance repeats every second. */
export interface Heartbeat {
  readonly id: string;
  /** The instance has applied every change up to here; absent until it has applied one. */
  readonly applied?: Position;
  /** Milliseconds since its last announcement. */
  readonly silentFor: number;
  /** Milliseconds of silence after which it is not heard of. @default 3500 */
  readonly goneAfter?: number;
}

export interface FleetView<T = Announcement & Heartbeat> {
  readonly current: Position;
  /** The instances that announced themselves within a day and have not withdrawn, each once. */
  readonly instances: readonly T[];
}

/** Milliseconds between two announcements of an instance, unless the store says otherwise. */
export const BEAT_MS = 1000;
/** Milliseconds of silence after which an instance is not heard of: three missed announcements, plus a margin. */
export const goneAfter = (beatMs: number): number => 3 * beatMs + 500;
/** The same for an instance that announces itself each second. */
export const GONE_MS = goneAfter(BEAT_MS);
/** Milliseconds after which a store drops an instance that did not withdraw. */
export const FORGOTTEN_MS = 24 * 3_600_000;
/** What does not change is written again after this time, long before the store drops it. */
export const REWRITTEN_MS = 3_600_000;

/** The processes that share a store. Every method that returns a promise rejects when the store cannot be reached. */
export type FleetStore = NonNullable<ReturnType<typeof createFleetStore>>;
export type CategoryLists = FleetStore['categories'];

/** What the store has of this process. */
interface LastAnnouncement {
  readonly id: string;
  readonly beat: string;
  readonly categoryDigest: string | undefined;
  /** The instance without its calls, and with them. */
  readonly instance: string;
  readonly member: string;
  /** Whether it has other calls since. */
  readonly isStale: boolean;
  readonly at: number;
}

/**
 * The fleet of a store, in its records: a short beat of each process, which says what it has applied, and apart from that, written
 * when it changes, what it is and which categories it has.
 * @param malformed called for every record that is malformed
 */
export function createFleetStore(
  { records, positions, isOnOneHost }: Pick<StateStore, 'records' | 'positions' | 'isOnOneHost'>,
  malformed: (kind: string) => void,
) {
  if (records === undefined || positions === undefined) return undefined;
  const stored = new StoredValues();
  stored.malformed.add(malformed);
  let last: LastAnnouncement | undefined;

  const beatMs = () => records.beatMs?.() ?? BEAT_MS;

  function put(kind: RecordWrite['kind'], key: string, value: string, now: number): RecordWrite {
    return { kind, key, record: { value, expiresAt: now + FORGOTTEN_MS } };
  }

  function heartbeatOf({ key, value, age }: ListedRecord): Heartbeat[] {
    const [, gone, revision, history] = /^(\d{1,9})(?: (\d{1,15}) (.+))?$/s.exec(value) ?? [];
    if (gone === undefined) {
      malformed('instance');
      return [];
    }
    const applied = history === undefined ? {} : { applied: { history, revision: Number(revision) } };
    return [{ id: key, silentFor: age, goneAfter: Number(gone), ...applied }];
  }

  async function heartbeats(): Promise<FleetView<Heartbeat>> {
    const [list, current] = await Promise.all([records!.list('beat', 0, Date.now()), positions!.newest()]);
    return { current, instances: list.records.flatMap(heartbeatOf) };
  }

  return {
    position: positions.position,
    onMoved: positions.onMoved,
    /** Milliseconds between two announcements, which may grow with the fleet. */
    beatMs,

    /** Says that an instance is alive and what it has applied; its calls with every second announcement only. */
    async announce({ id, calls, ...instance }: Announcement, applied: Position | undefined): Promise<void> {
      const now = Date.now();
      const silence = goneAfter(beatMs());
      const beat = applied === undefined ? `${silence}` : `${silence} ${applied.revision} ${applied.history}`;
      const before = last;
      last = undefined;
      const announced = {
        id,
        beat,
        categoryDigest: instance.categoryDigest,
        instance: JSON.stringify(instance),
        member: JSON.stringify({ ...instance, calls }),
        isStale: false,
        at: now,
      };
      const isSameList = before?.categoryDigest === instance.categoryDigest;
      const isSame = before?.instance === announced.instance && (before.member === announced.member || !before.isStale);
      const isKnown = before?.id === id && Math.abs(now - before.at) < REWRITTEN_MS;
      // An acknowledgement does not wait for other news, which follow with the next announcement; new categories come with it.
      if (isKnown && isSameList && (isSame || before.beat !== beat)) {
        const isKept = await records.write([{ ...put('beat', id, beat, now), expected: before.beat }], now);
        if (isKept) {
          last = { ...before, beat, isStale: before.member !== announced.member };
          return;
        }
      }
      await records.write([put('beat', id, beat, now), put('member', id, announced.member, now)], now);
      last = announced;
    },

    /** Removes an instance that shuts down from the list, and its categories. */
    async withdraw(id: string): Promise<void> {
      if (last?.id === id) last = undefined;
      const kinds = ['beat', 'member', 'categories'] as const;
      await records.write(
        kinds.map((kind) => ({ kind, key: id })),
        Date.now(),
      );
    },

    async look(): Promise<FleetView> {
      const { current, instances } = await heartbeats();
      const ids = instances.map(({ id }) => id);
      const members = await records.get('member', ids, Date.now());
      const known = instances.flatMap((heartbeat) => {
        const member = members.get(heartbeat.id);
        const instance = member && stored.instance(member.value);
        return instance === undefined ? [] : [{ ...instance, ...heartbeat }];
      });
      return { current, instances: known };
    },

    /** The same without what the instances are: short enough to be read again and again. */
    heartbeats,

    // The processes of a file are those of its host. A container has a host name of its own.
    hasEnded: ({ host, pid }: Instance) => isOnOneHost === true && host === hostname() && !isRunning(pid),

    /** One list for each instance. A list is written when it has changed, not with every announcement, and kept for a day. */
    categories: {
      async publish(id: string, list: string): Promise<void> {
        const now = Date.now();
        await records.write([put('categories', id, list, now)], now);
      },

      async read(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
        const found = await records.get('categories', ids, Date.now());
        return new Map([...found].map(([id, { value }]) => [id, value]));
      },
    },
  };
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
