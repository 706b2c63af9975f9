/** A point in the history of a shared store. */
export interface Position {
  /** Another one for each history: a store that lost changes goes on under a new one. */
  readonly history: string;
  /** Rises by every change of any scope, and never twice to the same number within a history. */
  readonly revision: number;
}

/** One process that shares a store with others. */
export interface Instance {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  /** Name of the service (`service.name` of OpenTelemetry's resource). */
  readonly service: string;
  /** Version of the service (`service.version`), where it is known. */
  readonly version?: string;
  /** Wall time, milliseconds since the epoch. */
  readonly startedAt: number;
}

/** An instance as the store has it. */
export interface AnnouncedInstance extends Instance {
  /** It has applied every change up to there; absent as long as it has applied none. */
  readonly applied?: Position;
  /** Milliseconds since it announced itself last. */
  readonly silentFor: number;
}

/** What a store knows of its processes. */
export interface FleetView {
  /** The store's own position. */
  readonly current: Position;
  /** Those that announced themselves and were not silent for too long since. */
  readonly instances: readonly AnnouncedInstance[];
}

/**
 * The part of a shared store by which its processes know of each other. Every method that returns a promise rejects when
 * the store cannot be reached; none of them retries.
 */
export interface FleetStore {
  /** Everything up to there was told to the subscribers of this handle; `undefined` before anything was. */
  position(): Position | undefined;
  /** Calls back after {@link FleetStore.position} has moved. Returns the way to stop. */
  onMoved(listener: () => void): () => void;
  /** Says that an instance lives and what it has applied, to the store and to those who wait for it. */
  announce(instance: Instance, applied: Position | undefined): Promise<void>;
  /** Takes an instance that ends off the list. */
  withdraw(id: string): Promise<void>;
  /** Looks at the store itself; drops the instances that were silent for longer than {@link GONE_MS}. */
  look(): Promise<FleetView>;
  /** Calls back with what an instance announced, sooner than a look would find it. Some calls may be missed. */
  onAnnounced(listener: (id: string, applied: Position) => void): () => void;
}

/** Milliseconds between two announcements of an instance. */
export const BEAT_MS = 1000;
/** Milliseconds of silence after which an instance counts as gone: three announcements missed, and a little patience. */
export const GONE_MS = 3 * BEAT_MS + 500;
