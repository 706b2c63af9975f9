import type { Recording } from '../audit/types.ts';
import type { ControlRequest } from '../protocol/control-request.ts';
import type { AuditEntry, AuditIdentity, ControlResponse, StateOrigin, TenantContext } from '../protocol/messages.ts';
import type { Position } from '../store/fleet-store.ts';
import type { Commit, CommitResult, ReplayRecord, ScopeKey } from '../store/state-store.ts';

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

/** One atomic step: new settings of a scope, where there are any, the entry that tells of them, the answer kept for repeats. */
export interface Write extends Recording {
  readonly state?: NonNullable<Commit['state']>;
  readonly replay?: ReplayRecord | undefined;
}

/** Writes to store and trail; what was written is in force behind it. */
export interface Writer {
  /** @throws {RdcpError} with nothing changed */
  write(write: Write): Promise<CommitResult>;
  /** Writes an entry that changes no state, when the store is back if need be. Never rejects. */
  note(entry: Omit<Write, 'state' | 'whenKept'>): Promise<void>;
}
