import type { AuditAction, AuditEntry, AuditOutcome } from '../wire/audit-messages.ts';
import type { Level } from '../wire/constants.ts';
import type { ControlBudget, DiscoveredControl } from '../wire/messages.ts';
import type { LineFilter, Target, When } from '../wire/target.ts';
import { LATEST_INSTANT } from '../wire/time.ts';
import type { MessageStore } from './message-store.ts';
import type { DroppedHead } from './prune-plan.ts';
import type { RecordStore } from './records.ts';

/** Who made a control. */
export interface Maker extends Omit<DiscoveredControl, 'since'> {
  /** Wall time, milliseconds since the epoch. */
  readonly at: number;
}

/** A temporary control: what a category is set to until a point in wall time (milliseconds since the epoch). */
export interface Overlay {
  /** Whether the category is on until then. */
  readonly enabled: boolean;
  /** When it ends: wall time, milliseconds since the epoch. */
  readonly expiresAt: number;
  /** The budget of its category. @default the configured budget */
  readonly budget?: ControlBudget | false | undefined;
  /** The least urgent level that comes out. @default every line */
  readonly level?: Level | undefined;
  /** @default not known */
  readonly by?: Maker | undefined;
}

/** One scope's setting for one category. A setting with neither layer is not stored. */
export interface Setting {
  /** `undefined` means that the category inherits. */
  readonly permanent?: boolean | undefined;
  /** The least urgent level that comes out by `permanent`. @default every line */
  readonly level?: Level | undefined;
  /** Who made the permanent setting. @default not known */
  readonly by?: Maker | undefined;
  /** The temporary control, in force before `permanent` until it ends. */
  readonly temporary?: Overlay | undefined;
}

/** `expiresAt` of an activation without an end. */
export const NO_END: number = LATEST_INSTANT;

/** Categories that are on for a part of the work, or of the lines, or recorded, beside the settings. */
export interface Activation {
  /** Unique in its scope. */
  readonly id: string;
  /** Names of its categories; at least one. */
  readonly categories: readonly string[];
  /** Whose work it is for. @default all work */
  readonly target?: Target | undefined;
  /** The lines that it is for. @default all lines */
  readonly filter?: LineFilter | undefined;
  /** The work whose lines are written, once its outcome is known. @default all lines, at once */
  readonly when?: When | undefined;
  /** Calls are kept in memory, and none is written. @default false */
  readonly record?: true | undefined;
  /** The least urgent level that it lets out. @default every line */
  readonly level?: Level | undefined;
  /** Its own budget for each of its categories. @default the configured budget of the category */
  readonly budget?: ControlBudget | false | undefined;
  /** When it ends: wall time, milliseconds since the epoch, or {@link NO_END}. */
  readonly expiresAt: number;
  /** @default not known */
  readonly by?: Maker | undefined;
  /** The key of the HMAC that stands for a value of `target.match` where the value is not shown. */
  readonly maskKey: string;
}

/** Settings of one scope by category name. */
export type Settings = ReadonlyMap<string, Setting>;

/**
 * Key of a scope in the store: `*` for what every tenant inherits, or a tenant's id (with a prefix where a namespace is configured).
 * No tenant id equals the global key, because `*` is not allowed in identifiers.
 */
export type ScopeKey = string;
/** The scope of the settings for all tenants. */
export const GLOBAL_SCOPE: ScopeKey = '*';

/** One scope as the store holds it. A scope that was never written has revision 0 and no settings. */
export interface ScopeState {
  /** Counts the scope's commits. */
  readonly revision: number;
  /** Its settings. */
  readonly settings: Settings;
  /** Its activations. @default none */
  readonly activations?: readonly Activation[] | undefined;
  /** Wall time of the last commit, milliseconds since the epoch. */
  readonly changedAt?: number;
}

/** The stored answer for a retry with the same request id. */
export interface ReplayRecord {
  /** Identity and request id as one opaque string, or the name of a task that only one process should do. */
  readonly key: string;
  /** SHA-256 of the request's body, lower-case hex; empty when there is no request. */
  readonly fingerprint: string;
  /** The response body as it was sent. */
  readonly response: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/**
 * An atomic write: the new settings of a scope, the audit entry that describes the change, and the answer to keep for
 * retries.
 */
export interface Commit {
  /** Absent when only the trail (and a replay record) is written: a refusal, a `status` action. */
  readonly state?: {
    /** The scope to write. */
    readonly scope: ScopeKey;
    /** The commit takes effect only while the scope still has this revision. */
    readonly expectedRevision: number;
    /** The store may keep this very map: it must not change afterwards. */
    readonly settings: Settings;
    /** Replaces the activations, as `settings` does the settings. @default none */
    readonly activations?: readonly Activation[] | undefined;
  };
  /** The entry to add to the trail. */
  readonly audit: AuditEntry;
  /** The answer to keep for retries. @default none */
  readonly replay?: ReplayRecord;
  /** Wall time of the commit, milliseconds since the epoch. */
  readonly now: number;
  /** No caller waits for it: a locked store may reject it sooner, and need not sync it to disk. @default false */
  readonly background?: boolean;
  /** {@link StateStore.sync} is called before it is acknowledged. Until then the next one may be committed. @default false */
  readonly syncLater?: boolean;
}

/** A point in the history of a shared store. */
export interface Position {
  /** Identifies the history; new when a store has lost changes. */
  readonly history: string;
  /** Increases with every change of any scope; unique within a history. */
  readonly revision: number;
}

/** Tells how far the processes that share a store have followed it. */
export interface Positions {
  /** Subscribers of this handle have received everything up to here; `undefined` before the first change. */
  position(): Position | undefined;
  /** The store's own. What this handle has missed up to there is read. */
  newest(): Promise<Position>;
  /** Calls back after {@link Positions.position} has moved. Returns a function that unsubscribes. */
  onMoved(listener: () => void): () => void;
}

/** The outcome of a commit. */
export type CommitResult =
  /**
   * Written, and as durable as this store allows. `revision` is the scope's new revision when state was written;
   * `position` is then the position of a shared store.
   */
  | { readonly outcome: 'committed'; readonly revision?: number; readonly position?: Position }
  /** Nothing was written: another process changed the scope. `current` is its present state. */
  | { readonly outcome: 'conflict'; readonly current: ScopeState }
  /** Nothing was written: the request id already has this answer. */
  | { readonly outcome: 'replayed'; readonly replay: ReplayRecord };

/** Filters of the audit endpoint, combined with AND. */
export interface AuditQuery {
  /** Entries at most, from 1. */
  readonly limit: number;
  /** Opaque position from an earlier page's `next`. */
  readonly cursor?: string;
  /** Inclusive, milliseconds since the epoch. */
  readonly since?: number;
  /** Exclusive, milliseconds since the epoch. */
  readonly until?: number;
  /** Only entries of this action. */
  readonly action?: AuditAction;
  /** Only entries about this category. */
  readonly category?: string;
  /** Only entries of this client id. */
  readonly client?: string;
  /** Only entries with this outcome. */
  readonly outcome?: AuditOutcome;
  /** Only entries of this tenant. */
  readonly tenant?: string;
}

/** A page of the trail. */
export interface AuditPage {
  /** Newest first. A page may hold fewer than `limit` entries, or none, although there is a next one. */
  readonly entries: readonly AuditEntry[];
  /** Absent on the last page. */
  readonly next?: string;
}

/** How a store lost acknowledged changes: it was found empty, or restored from an older copy. */
export interface StoreReset {
  /** `empty`: there was nothing; `rollback`: revisions went back. */
  readonly reason: 'empty' | 'rollback';
  /** Identifies the store's content from then on: the same for all processes that notice one loss, new for the next. */
  readonly history: string;
}

/**
 * Stores control state, the audit trail and replay records. Every method rejects when the store cannot be reached; none
 * of them retries.
 */
export interface StateStore {
  /** Name for health checks and messages: `memory`, `sqlite`, … */
  readonly name: string;
  /** Whether other processes may write it too. */
  readonly shared: boolean;
  /** Whether all processes that may share it are on this host. @default false */
  readonly isOnOneHost?: boolean;
  /** Without it, `security.tokens` is refused, and the processes that share the store do not know of each other. */
  readonly records?: RecordStore;
  /** Absent when the store is not shared. */
  readonly positions?: Positions;
  /** Carries messages between the processes that share the store. Without it, tails and forecasts show one process alone. */
  readonly messages?: MessageStore;
  /** Every scope that was ever written, even without settings: its revision still counts. */
  load(): Promise<ReadonlyMap<ScopeKey, ScopeState>>;
  /**
   * Returns a valid replay record first; otherwise compares the revision, then writes everything. Where nothing was written
   * for certain, the error that it rejects with is an `RdcpError`, or has a member `written` that is `false`. After any other
   * the outcome counts as unknown, and the request is not carried out another way.
   */
  commit(commit: Commit): Promise<CommitResult>;
  /** Resolves when the commits before it, of all processes, survive a power loss. Absent where they do when they resolve. */
  sync?(): Promise<void>;
  /** The unexpired replay record under a key. */
  findReplay(key: string, now: number): Promise<ReplayRecord | undefined>;
  /**
   * Calls back with the newest state of every scope that others changed; a change by this handle may come too. Changes
   * between the last {@link StateStore.load} and this call are included, and a store that was unreachable at first
   * sends every scope once it is reachable. Returns a function that unsubscribes.
   */
  subscribe(listener: (scope: ScopeKey, state: ScopeState) => void): () => void;
  /**
   * Calls back when a shared store has lost acknowledged changes. Its present state is in force, although revisions
   * went back: the listener calls {@link StateStore.load}. Absent when that cannot happen. Returns a function that
   * unsubscribes.
   */
  onReset?(listener: (reset: StoreReset) => void): () => void;
  /**
   * Calls back with the kind of every stored value or message that was dropped because it is malformed. Returns a
   * function that unsubscribes. Absent where that cannot happen.
   */
  onMalformed?(listener: (kind: string) => void): () => void;
  /**
   * @throws {RdcpError} `RDCP_MALFORMED_REQUEST` with `details.field` `cursor` for a cursor that is not from an earlier
   * page
   */
  queryAudit(query: AuditQuery): Promise<AuditPage>;
  /** The newest entry, which the first entry of a new process links to. */
  newestAudit(): Promise<AuditEntry | undefined>;
  /**
   * Drops entries whose `retainUntil` has passed, from the beginning of each chain up to the first entry that stays;
   * returns how many. When there are any, it first calls `starting` with the last entry to drop of each chain, and
   * drops none unless that resolves to true, so that the audit entry that explains the gap comes first.
   * @param starting @default drops them
   * @param mayDrop called for each entry to drop, in the order of writing. @default true
   */
  pruneAudit(
    now: number,
    starting?: (dropped: readonly DroppedHead[]) => Promise<boolean>,
    mayDrop?: (entry: AuditEntry) => boolean,
  ): Promise<number>;
  /** Resolves when the store answers and accepts writes. */
  check(): Promise<void>;
  /** Ends timers and connections of its own. Committed changes stay. Never rejects. */
  close(): Promise<void>;
}
