import type { Recording } from '../audit/types.ts';
import type { AuditEntry, AuditIdentity } from '../protocol/audit-messages.ts';
import type { ControlRequest } from '../protocol/control-request.ts';
import type { ControlResponse, StateOrigin, TenantContext } from '../protocol/messages.ts';
import type { Position } from '../store/fleet-store.ts';
import type { Commit, CommitResult, Maker, ReplayRecord, ScopeKey } from '../store/state-store.ts';

/** The scope that a request addresses. */
export interface Scope {
  readonly key: ScopeKey;
  /** The tenant whose calls this scope decides; absent for the global scope. */
  readonly tenantId?: string;
}

/** The caller of a change, for the audit trail and for retries. */
export interface CommandContext {
  readonly scope: Scope;
  readonly identity: AuditIdentity;
  /** Set in multi-tenant mode; repeated in the answer. */
  readonly tenant?: TenantContext;
  /** False when the operator may have misspelt the tenant. @default true */
  readonly tenantKnown?: false;
  /** The value of `X-RDCP-Tenant-Name`. */
  readonly tenantName?: string;
  readonly requestId: string;
  readonly source?: AuditEntry['source'];
  /** Set when the client sent its own request id, so that a retry is recognized. */
  readonly replay?: { readonly key: string; readonly fingerprint: string };
}

export interface ControlOutcome {
  readonly response: ControlResponse;
  /** The response as JSON, when it was already serialized. */
  readonly json?: string | undefined;
  /** True when this is the stored answer to an earlier request with the same id. */
  readonly replayed: boolean;
  /** The store's position after the change; absent when nothing was written, or the store has none. */
  readonly position?: Position;
  /** Resolves when the store has persisted the change; absent when it already has. */
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
  /** Who made the control that decides; absent in a tenant's view of everybody's control. */
  readonly by?: Maker;
}

export interface ControlPlane {
  /**
   * Loads the store and applies it; until then every category has its default. Never rejects: health reports a failure.
   */
  start(): Promise<void>;
  /** @throws {RdcpError} when nothing was changed; the code says why */
  control(request: ControlRequest, context: CommandContext): Promise<ControlOutcome>;
  /** Every category as the scope sees it now, sorted by name. */
  view(scope: Scope): readonly CategoryView[];
  /** Live temporary controls of the scope, or of all scopes. */
  temporaryControls(scope?: Scope): number;
  /** Keys of the scopes that have settings, except the global one. */
  scopes(): ReadonlySet<ScopeKey>;
  /** Wall time of the last change of a scope's own settings; `undefined` if there was none. */
  changedAt(scope: Scope): number | undefined;
  /** Whether this process has applied every change that it received. */
  readonly current: boolean;
  /** Whether the store has lost acknowledged changes and nothing was changed since; reset after an hour. */
  readonly lost: boolean;
  /** False while the whole instrumentation is switched off. */
  readonly enabled: boolean;
  setEnabled(enabled: boolean): void;
  /** Stops timers and the subscription, and waits for accepted commands. */
  close(): Promise<void>;
}

/**
 * One atomic write: a scope's new settings if any, the audit entry that describes them, and the answer to keep for
 * retries.
 */
export interface Write extends Recording {
  readonly state?: NonNullable<Commit['state']>;
  readonly replay?: ReplayRecord | undefined;
}

/** Writes to store and audit trail. Committed changes are in force when a write resolves. */
export interface Writer {
  /** @throws {RdcpError} when nothing was changed */
  write(write: Write): Promise<CommitResult>;
  /** Writes an entry that changes no state; defers it while the store is away. Never rejects. */
  note(entry: Omit<Write, 'state' | 'whenKept'>): Promise<void>;
}
