import type { Activation, Commit, Maker, Position, ReplayRecord, ScopeKey } from '../store/state-store.ts';
import type { AuditDraft } from '../trail/types.ts';
import type { Allow } from '../wire/allow.ts';
import type { AuditEntry, AuditedApproval, AuditIdentity } from '../wire/audit-messages.ts';
import type { ListedCategory } from '../wire/category-list.ts';
import type { Level } from '../wire/constants.ts';
import type {
  CategoryInstances,
  ControlResponse,
  DiscoveredSource,
  StateOrigin,
  TenantContext,
  TenantSettings,
} from '../wire/messages.ts';
import type { Commands } from './commands.ts';

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
  /** The latest end of what is switched, in milliseconds since the epoch. @default none but that of the duration */
  readonly until?: number;
  /** Categories that no process has yet are switched once they are made, instead of being refused. @default false */
  readonly early?: boolean;
  /** What the credential may change. @default all */
  readonly allow?: Allow | undefined;
  /** Set for a change that another identity has approved. */
  readonly approval?: AuditedApproval;
  /**
   * Set when the client sent its own request id, so that a retry is recognized.
   * @param expiresAt how long the answer is kept, in milliseconds since the epoch. @default REPLAY_WINDOW_MS from now
   */
  readonly replay?: { readonly key: string; readonly fingerprint: string; readonly expiresAt?: number };
}

export interface ControlOutcome {
  readonly response: ControlResponse;
  /** True when this is the stored answer to an earlier request with the same id. */
  readonly replayed: boolean;
  /** The store's position after the change; absent when nothing was written, or the store has none. */
  readonly position?: Position;
  /** True when it applies to this process alone, and the store has nothing of it yet. */
  readonly local?: true;
}

export interface CategoryOfProcess extends ListedCategory {
  /** In the gate. */
  readonly index: number;
}

export interface CategoryActivation {
  readonly activation: Activation;
  /** `undefined` for one that is for everybody. */
  readonly tenantId: string | undefined;
}

export interface CategoryView {
  /** In the gate; absent for a category that only other processes have. */
  readonly index?: number | undefined;
  readonly name: string;
  readonly description: string;
  readonly defaultEnabled: boolean;
  readonly enabled: boolean;
  readonly temporary: boolean;
  readonly origin: StateOrigin;
  /** Milliseconds since the epoch. */
  readonly expiresAt?: number;
  /** The least urgent level that comes out; absent for every line. */
  readonly level?: Level;
  /** Who made the control that decides; absent in a tenant's view of a global control. */
  readonly by?: Maker;
  /** In the view of everybody: tenants whose own setting has it on, or differs. Absent if there is none. */
  readonly tenants?: TenantSettings;
  /** Recorded from the start, for all work. */
  readonly recorded?: true;
  /** Those in force for the scope; in the view of everybody, those of all tenants. Absent if there is none. */
  readonly activations?: readonly CategoryActivation[];
  /** The logger of another library, of a category that only other processes have. */
  readonly source?: DiscoveredSource | undefined;
  /** Present if not all processes have it. */
  readonly instances?: CategoryInstances;
}

/**
 * One atomic write: a scope's new settings if any, the audit entry that describes them, and the answer to keep for
 * retries.
 */
export interface Write {
  readonly draft: AuditDraft;
  readonly state?: NonNullable<Commit['state']>;
  readonly replay?: ReplayRecord | undefined;
}

/** Writes to store and audit trail. Committed changes are in force when a write resolves. */
export type Writer = Pick<Commands, 'write' | 'note'>;
