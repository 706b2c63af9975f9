import type { MemberCalls } from '../wire/member-calls.ts';

/** A point in the history of a shared store. */
export interface Position {
  /** Identifies the history; new when a store has lost changes. */
  readonly history: string;
  /** Increases with every change of any scope; unique within a history. */
  readonly revision: number;
}

/** One process that shares a store with others. */
export interface Instance {
  /** Id of the process. */
  readonly id: string;
  /** Name of its host. */
  readonly host: string;
  /** Its process id on that host. */
  readonly pid: number;
  /** Name of the service (`service.name` of the OpenTelemetry resource). */
  readonly service: string;
  /** Version of the service (`service.version`), if known. */
  readonly version?: string;
  /** Its `service.instance.id` of the OpenTelemetry resource, if it has one. Processes may share it. */
  readonly serviceInstanceId?: string;
  /** Wall time, milliseconds since the epoch. */
  readonly startedAt: number;
  /** Digest of its list in {@link FleetStore.categories}; absent while it has none there. */
  readonly categoryDigest?: string;
}

/** What an instance announces of itself. */
export interface Announcement extends Instance {
  /** Its calls; absent where its release does not say. */
  readonly calls?: MemberCalls | undefined;
  /** Wall time at which the last of its temporary controls ends, milliseconds since the epoch; absent if there is none. */
  readonly controlsEnd?: number;
}

/** An instance as the store lists it. */
export interface AnnouncedInstance extends Announcement {
  /** The instance has applied every change up to here; absent until it has applied one. */
  readonly applied?: Position;
  /** Milliseconds since its last announcement. */
  readonly silentFor: number;
  /** Milliseconds of silence after which it is not heard of. @default 3500 */
  readonly goneAfter?: number;
}

/** The processes of a store. */
export interface FleetView {
  /** The store's own position. */
  readonly current: Position;
  /** The instances that announced themselves within a day and have not withdrawn, each once. */
  readonly instances: readonly AnnouncedInstance[];
}

/** How many instances have applied a change, without the one that asks. */
export interface FleetCount {
  /** The store's own position. */
  readonly current: Position;
  /** Number of the other instances that are heard of. */
  readonly instances: number;
  /** How many of them have applied the change. */
  readonly applied: number;
  /** Number of the other instances that are not heard of and have not withdrawn; they are in none of the other numbers. */
  readonly silent: number;
  /** Milliseconds of silence after which an instance is not heard of. */
  readonly goneAfter: number;
}

/**
 * The part of a shared store that lets its processes find each other. Every method that returns a promise rejects when
 * the store cannot be reached; none of them retries.
 */
export interface FleetStore {
  /** Subscribers of this handle have received everything up to here; `undefined` before the first change. */
  position(): Position | undefined;
  /** Calls back after {@link FleetStore.position} has moved. Returns a function that unsubscribes. */
  onMoved(listener: () => void): () => void;
  /**
   * Announces that an instance is alive and what it has applied, to the store and to the processes that wait for it. A store may
   * keep its calls with every second announcement only.
   */
  announce(instance: Announcement, applied: Position | undefined): Promise<void>;
  /** Milliseconds between two announcements, which may grow with the fleet. @default 1000 */
  beatMs?(): number;
  /** Removes an instance that shuts down from the list, and its categories. */
  withdraw(id: string): Promise<void>;
  /** Reads the store itself. May drop instances that were silent for a day: the fleet withdraws them earlier. */
  look(): Promise<FleetView>;
  /**
   * Counts who has applied a change, without reading who they are. Without it, `look` is used.
   * @param self id of the instance that asks
   * @param target @default the store's own position
   */
  count?(self: string, target?: Position): Promise<FleetCount>;
  /**
   * Calls back when a change may have been applied by all, sooner than polling would show it. Calls may be missed, and may be
   * wrong. Returns a function that unsubscribes.
   */
  onAnnounced(listener: () => void): () => void;
  /** Whether an instance that is not heard of has certainly ended. @default not known */
  hasEnded?(instance: Instance): boolean;
  /**
   * Keeps which categories the instances have. Without it the endpoint of a process knows the categories of that process
   * alone.
   */
  readonly categories?: CategoryLists;
}

/** One list for each instance. A list is written when it has changed, not with every announcement. */
export interface CategoryLists {
  /** Keeps the list of an instance that has announced itself. May drop those of instances that have gone. */
  publish(id: string, list: string): Promise<void>;
  /** The lists of these instances, by id; those without one are left out. */
  read(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

/** Milliseconds between two announcements of an instance, unless the store says otherwise. */
export const BEAT_MS = 1000;
/** Milliseconds of silence after which an instance is not heard of: three missed announcements, plus a margin. */
export const goneAfter = (beatMs: number): number => 3 * beatMs + 500;
/** The same for an instance that announces itself each second. */
export const GONE_MS = goneAfter(BEAT_MS);
/** Milliseconds after which a store drops an instance that did not withdraw. */
export const FORGOTTEN_MS = 24 * 3_600_000;
