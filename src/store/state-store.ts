import type { AuditAction, AuditEntry, AuditOutcome, ControlBudget } from '../protocol/messages.ts';
import type { FleetStore, Position } from './fleet-store.ts';
import type { DroppedHead } from './prune-plan.ts';
import type { TokenStore } from './token-store.ts';

/** A temporary control: what a category is set to until a point in wall time (milliseconds since the epoch). */
export interface Overlay {
  readonly enabled: boolean;
  readonly expiresAt: number;
  /** What its category may emit. @default what is configured */
  readonly budget?: ControlBudget | false | undefined;
}

/** What one scope says about one category. A setting with neither layer is not kept at all. */
export interface Setting {
  /** `undefined` means that the category inherits. */
  readonly permanent?: boolean | undefined;
  readonly temporary?: Overlay | undefined;
}

/** Settings of one scope by category name. */
export type Settings = ReadonlyMap<string, Setting>;

/**
 * Key of a scope in the store: {@link GLOBAL_SCOPE} or a tenant's id (prefixed by a namespace where configured). No tenant id can equal
 * the global key, because `*` is not in the Identifier pattern.
 */
export type ScopeKey = string;
export const GLOBAL_SCOPE: ScopeKey = '*';

/** One scope as the store holds it. A scope that was never written has revision 0 and no settings. */
export interface ScopeState {
  readonly revision: number;
  readonly settings: Settings;
  /** Wall time of the last commit, milliseconds since the epoch. */
  readonly changedAt?: number;
}

/** The answer kept for a repeat of a request id. */
export interface ReplayRecord {
  /** Identity and request id, as one opaque string; or what only one process of those that share the store is to do. */
  readonly key: string;
  /** SHA-256 of the request's body, lower-case hex; empty where there is no request. */
  readonly fingerprint: string;
  /** The response body as it was sent. */
  readonly response: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** All or nothing: the new settings of a scope, the audit entry that tells of it, the answer kept for repeats. */
export interface Commit {
  /** Absent where only the trail (and a replay record) is written: a refusal, a `status` action. */
  readonly state?: {
    readonly scope: ScopeKey;
    /** The commit takes effect only while the scope still has this revision. */
    readonly expectedRevision: number;
    /** The store may keep this very map: it must not change afterwards. */
    readonly settings: Settings;
  };
  readonly audit: AuditEntry;
  readonly replay?: ReplayRecord;
  /** Wall time of the commit, milliseconds since the epoch. */
  readonly now: number;
  /** The result may come before what was written is durable, and tells by itself when it is. @default false */
  readonly syncLater?: boolean;
  /** Nobody waits for it: a store that was just found locked, or away, may reject it without having tried. @default false */
  readonly background?: boolean;
}

export type CommitResult =
  /**
   * Done, and durable as far as this store is. `revision` is the scope's new one where state was written; `position` is
   * then, in a shared store, the store's own that came with it. Where the commit said `syncLater`, `durable` may be there:
   * it resolves once what was written survives a loss of power, and rejects when that cannot be known. Nobody is told of the
   * change before.
   */
  | {
      readonly outcome: 'committed';
      readonly revision?: number;
      readonly position?: Position;
      readonly durable?: Promise<void>;
    }
  /** Nothing was written: another process changed the scope. `current` is what it holds now. */
  | { readonly outcome: 'conflict'; readonly current: ScopeState }
  /** Nothing was written: the request id is taken, by this answer. */
  | { readonly outcome: 'replayed'; readonly replay: ReplayRecord };

/** Filters of the audit endpoint; every one given must hold. */
export interface AuditQuery {
  /** Entries at most, from 1. */
  readonly limit: number;
  /** Opaque position from an earlier page's `next`. */
  readonly cursor?: string;
  /** Inclusive, milliseconds since the epoch. */
  readonly since?: number;
  /** Exclusive, milliseconds since the epoch. */
  readonly until?: number;
  readonly action?: AuditAction;
  readonly category?: string;
  readonly client?: string;
  readonly outcome?: AuditOutcome;
  /** Only entries of this tenant. */
  readonly tenant?: string;
}

export interface AuditPage {
  /** Newest first. A page may hold fewer than `limit`, also none, although there is a next one. */
  readonly entries: readonly AuditEntry[];
  /** Absent on the last page. */
  readonly next?: string;
}

/** How a store lost changes that it had acknowledged: it was found empty, or restored from an older copy. */
export interface StoreReset {
  readonly reason: 'empty' | 'rollback';
  /** Names what the store holds from then on: the same for all processes that hear of one loss, another for the next one. */
  readonly history: string;
}

/**
 * Where control state, the audit trail and replay records are kept. Every method rejects when the store cannot be
 * reached; none of them retries. An implementation of your own passes the cases of
 * `opentelemetry-instrumentation-rdcp/store-contract`.
 */
export interface StateStore {
  /** Name for health checks and messages: `memory`, `sqlite`, … */
  readonly name: string;
  /** Whether other processes may write it too. */
  readonly shared: boolean;
  /** Records of issued tokens. A store without them serves where `security.tokens` is not configured. */
  readonly tokens?: TokenStore;
  /** How the processes that share it know of each other. Absent where none does. */
  readonly fleet?: FleetStore;
  /** Every scope that was ever written. One whose settings are all gone is there too: its revision counts on. */
  load(): Promise<ReadonlyMap<ScopeKey, ScopeState>>;
  /** A replay record that is still valid is looked for first, then the revision is compared, then all is written. */
  commit(commit: Commit): Promise<CommitResult>;
  /**
   * The same for several commits, in order and as one atomic step, which ends at the first that is not `committed`: its result
   * is the last one then. Each sees what those before it wrote. Absent where it would be no faster.
   */
  commitAll?(commits: readonly Commit[]): Promise<readonly CommitResult[]>;
  /** The unexpired replay record under a key. */
  findReplay(key: string, now: number): Promise<ReplayRecord | undefined>;
  /**
   * Calls back with every scope that somebody else changed, in its newest state; a change of this handle may come too.
   * What changed between the last {@link StateStore.load} and this call comes too, and a store that could not be reached at
   * first tells every scope once it is. Returns the way to stop.
   */
  subscribe(listener: (scope: ScopeKey, state: ScopeState) => void): () => void;
  /**
   * Calls back when a shared store came back with less than it had acknowledged. What it holds now is in force, although
   * revisions went back: the listener calls {@link StateStore.load}. Absent where that cannot happen. Returns the way to stop.
   */
  onReset?(listener: (reset: StoreReset) => void): () => void;
  /** @throws {RdcpError} `RDCP_MALFORMED_REQUEST` with `details.field` `cursor` for a cursor that no page gave out */
  queryAudit(query: AuditQuery): Promise<AuditPage>;
  /** The entry written last, which a new process's hash chain points at. */
  newestAudit(): Promise<AuditEntry | undefined>;
  /**
   * Drops entries whose `retainUntil` has passed, of each chain from its beginning up to the first entry that stays;
   * returns how many. Where there is any it calls `starting` before, with the last entry that goes of each chain, and drops
   * none unless that resolves with true: what explains that they are missing is to be there first.
   * @param starting @default drops them
   * @param mayDrop asked about each entry that is to go, in the order of writing. @default true
   */
  pruneAudit(
    now: number,
    starting?: (dropped: readonly DroppedHead[]) => Promise<boolean>,
    mayDrop?: (entry: AuditEntry) => boolean,
  ): Promise<number>;
  /** Resolves when the store answers, and takes what is written. */
  check(): Promise<void>;
  close(): Promise<void>;
}
