import type { ControlRequest } from '../protocol/control-request.ts';
import type { AuditEntry, AuditIdentity, ControlResponse, StateOrigin, TenantContext } from '../protocol/messages.ts';
import type { Position } from '../store/fleet-store.ts';
import type { CommitResult, ScopeKey } from '../store/state-store.ts';

/** What an audit entry says before the trail seals it with id, time, sequence and hash. */
export type AuditDraft = Pick<AuditEntry, 'action' | 'categories' | 'changes' | 'outcome' | 'identity'> &
  Partial<Pick<AuditEntry, 'tenant' | 'requestId' | 'reason' | 'source' | 'error' | 'count'>>;

/** The trail as the control plane needs it; `audit/` implements it. */
export interface AuditRecorder {
  /**
   * Seals the drafts as the next entries of this process's chain and hands them to `persist`, one call at a time. For each
   * result that is `committed` the chain advances and the OTel record is due.
   */
  recordAll(recordings: readonly Recording[], persist: PersistAll): Promise<readonly CommitResult[]>;
  /**
   * For what had to happen although the store cannot be reached: emits the OTel record at once and keeps the draft, to be
   * sealed and handed to `persist` when the store is back, in this order and before any later entry. False when no more
   * can be kept; nothing was emitted then.
   */
  defer(draft: AuditDraft, persist: Persist): boolean;
}

/** A draft, and who emits its OTel record. */
export interface Recording {
  readonly draft: AuditDraft;
  /**
   * Called once the entry is kept, with what emits the record: in the asynchronous context whose trace it belongs to.
   * @default emits it at once
   */
  readonly whenKept?: (emit: () => void) => void;
}

/**
 * Writes sealed entries together with what they tell of, as one atomic step. Resolves with the results up to the first that
 * is not `committed`; rejects when nothing was written, or it is not known whether all was.
 */
export type PersistAll = (entries: readonly AuditEntry[]) => Promise<readonly CommitResult[]>;

/** Writes a sealed entry, alone or together with what it tells of. It rejects when that did not happen, or may not have. */
export type Persist = (entry: AuditEntry) => Promise<CommitResult>;

/** Whose settings are addressed or read. */
export interface Scope {
  readonly key: ScopeKey;
  /** The tenant whose calls the gate decides by this scope; absent for the global scope. */
  readonly tenantId?: string;
}

/** Who asks for a change, from where, for the trail and for repeats. */
export interface CommandContext {
  readonly scope: Scope;
  readonly identity: AuditIdentity;
  /** In multi-tenant mode: stands in the answer. */
  readonly tenant?: TenantContext;
  /** The `X-RDCP-Tenant-Name` that came along. */
  readonly tenantName?: string;
  readonly requestId: string;
  readonly source?: AuditEntry['source'];
  /** Present when the client named the request id itself, so that a repeat can be told. */
  readonly replay?: { readonly key: string; readonly fingerprint: string };
}

export interface ControlOutcome {
  readonly response: ControlResponse;
  /** The response as JSON, where it is written already. */
  readonly json?: string | undefined;
  /** True when this is the kept answer to an earlier request with the same id. */
  readonly replayed: boolean;
  /** The store's own, that the change came to; absent where none was written now, or the store has none. */
  readonly position?: Position;
  /** When the store has the change for good; absent where it has it already. */
  readonly durable?: Promise<void>;
}

/** One category as a scope sees it. */
export interface CategoryView {
  readonly index: number;
  readonly name: string;
  readonly description: string;
  readonly defaultEnabled: boolean;
  readonly enabled: boolean;
  readonly temporary: boolean;
  readonly origin: StateOrigin;
  /** Milliseconds since the epoch. */
  readonly expiresAt?: number;
}

export interface ControlPlane {
  /** Loads the store and applies it; until then every category has its default. Rejects never: health tells. */
  start(): Promise<void>;
  /** @throws {RdcpError} with nothing changed, as the code says */
  control(request: ControlRequest, context: CommandContext): Promise<ControlOutcome>;
  /** Every category as the scope sees it now, sorted by name. */
  view(scope: Scope): readonly CategoryView[];
  /** Live temporary controls of the scope, or of all scopes. */
  temporaryControls(scope?: Scope): number;
  /** Keys of the scopes that have settings, the global one left out, with the wall time of their last change. */
  scopes(): ReadonlyMap<ScopeKey, { readonly changedAt?: number }>;
  /** Whether everything that the store told this process is applied in it, without doubt. */
  readonly current: boolean;
  /** Whether the store has lost changes that it had acknowledged, and nothing was changed since: for an hour at most. */
  readonly lost: boolean;
  /** False while the whole instrumentation is switched off. */
  readonly enabled: boolean;
  setEnabled(enabled: boolean): void;
  /** Ends timers and the subscription, and waits for the commands that were accepted. */
  close(): Promise<void>;
}
