import type { AUDIT_ACTIONS, AuthMethod, ControlAction, Level, SecurityLevel } from './constants.ts';
import type { ChangeRecord, ControlBudget, DiscoveredActivation, RdcpAnswer } from './messages.ts';
import type { Timestamp } from './time.ts';

// Entries of the audit trail, as the store and the answers have them.

/** Kind of an audit entry. See docs/audit.md. */
export type AuditAction = (typeof AUDIT_ACTIONS)[number];
/** How it ended; `partial`: not in every process, or not in the store. */
export type AuditOutcome = 'success' | 'partial' | 'failed' | 'denied';

/** The identity behind a request, as far as the credential shows it. */
export interface AuditIdentity {
  /** Kind of the credential. */
  readonly method?: AuthMethod;
  /** User of the credential. */
  readonly userId?: string;
  /** Client of the credential. */
  readonly clientId?: string;
  /** Scopes of the credential. */
  readonly scopes?: readonly string[];
  /** Session of the token. */
  readonly sessionId?: string;
}

/** An activation that was made or ended. Each value of `target.match` is `hmac:` and 12 characters. */
export type AuditedActivation = Pick<
  DiscoveredActivation,
  'id' | 'target' | 'filter' | 'when' | 'record' | 'level' | 'expiresAt'
>;

/** A change that goes beyond what a credential allows, while it waits and once it is made. Both have its `id`. */
export type AuditedApproval =
  | {
      readonly id: string;
      /** The action that waits. */
      readonly action: ControlAction;
      /** How long it waits. */
      readonly expiresAt: Timestamp;
    }
  | {
      readonly id: string;
      /** Who approved it. */
      readonly by: AuditIdentity;
    };

/** The beginning of a tail, or its end. Both have the stream's `id`. */
export type AuditedTail =
  | {
      readonly id: string;
      readonly state: 'begin';
      /** Such as `5m`. */
      readonly duration: string;
      /** Most lines a second. */
      readonly rate: number;
      /** Whether the lines also went to the service's own outputs. */
      readonly log: boolean;
    }
  | {
      readonly id: string;
      readonly state: 'end';
      readonly reason: TailEndReason | 'closed';
      readonly lines: number;
      readonly dropped: number;
    };

/**
 * Why the server ended a tail: its time is over, its number of lines was reached, only the past was asked for, the credential
 * expired or was revoked, the server shuts down, or the same client began another and had no place left.
 */
export type TailEndReason = 'expired' | 'budget' | 'past' | 'revoked' | 'shutdown' | 'replaced';

/** The action in words of the command: what only ends is `end`, although the protocol's action is `reset`; what writes nothing `record`. */
export function actionOf({ action, otelrdcp_only: only, otelrdcp_activation: activation }: AuditEntry): string {
  if (action === 'enable' && activation?.record) return 'record';
  return action === 'reset' && (only ?? activation) !== undefined ? 'end' : action;
}

/** One entry of the audit trail, in the store and in responses. */
export interface AuditEntry {
  /** The entry's own id, a UUID. */
  readonly id: string;
  /** When it was written. */
  readonly timestamp: Timestamp;
  /** The action that was done or tried. */
  readonly action: AuditAction;
  /** Categories that it was about. */
  readonly categories: readonly string[];
  /** The changes; empty for other actions. */
  readonly changes: readonly ChangeRecord[];
  /** How it ended. */
  readonly outcome: AuditOutcome;
  /** The identity that did it; empty for actions of the server itself, such as an expiry. */
  readonly identity: AuditIdentity;
  /** Tenant that it was for; absent if for everybody. */
  readonly tenant?: {
    /** Its id. */
    readonly id: string;
    /** Its configured name, if it has one. */
    readonly name?: string;
  };
  /** Id of the request (`X-RDCP-Request-ID`). */
  readonly requestId?: string;
  /** The operator's reason. */
  readonly reason?: string;
  /** The option of the control. */
  readonly otelrdcp_budget?: ControlBudget | false;
  /** The option of the control. */
  readonly otelrdcp_level?: Level;
  /** On a `reset` that left permanent settings. */
  readonly otelrdcp_only?: 'temporary';
  /** The activation that was made or ended. Values of `match` are masked. */
  readonly otelrdcp_activation?: AuditedActivation;
  /** On an `approval`: the change that waits. On a change: who approved it, where its maker might not have made it. */
  readonly otelrdcp_approval?: AuditedApproval;
  /** Source of the request. */
  readonly source?: {
    /** IP address of the client. */
    readonly address?: string;
    /** Its `User-Agent`. */
    readonly userAgent?: string;
  };
  /** On a `tail`: its beginning, or its end with what the reader got. */
  readonly otelrdcp_tail?: AuditedTail;
  /** Error code, on refusals and failures. */
  readonly error?: string;
  /** Number of requests that an aggregate entry stands for; absent means one. */
  readonly count?: number;
  /** On a `prune`: the entries that it drops. */
  readonly dropped?: {
    /** Latest `retainUntil` of the dropped entries. */
    readonly until: Timestamp;
    /** The last dropped entry of each chain. */
    readonly chains: readonly Pick<AuditEntry['compliance'], 'instanceId' | 'sequence' | 'hash'>[];
  };
  /** Its place in the chain of hashes, which makes the trail verifiable. */
  readonly compliance: {
    /** The configured level of security when it was written. */
    readonly securityLevel: SecurityLevel;
    /** Process that wrote it. Each process has a chain of its own. */
    readonly instanceId: string;
    /** Position in this process's chain, from 1. */
    readonly sequence: number;
    /** `hash` of the previous entry in the chain; 64 zeros for the first. */
    readonly previousHash: string;
    /**
     * `retainUntil` of the previous entry. Present in the first entry of a process, and when the previous entry has expired
     * or is about to.
     */
    readonly previousRetainUntil?: Timestamp;
    /** SHA-256 over the canonical JSON (RFC 8785) of the entry without this field and `signature`, lower-case hex. */
    readonly hash: string;
    /** The entry is kept at least until then. */
    readonly retainUntil: Timestamp;
    /**
     * Ed25519 over `rdcp.audit.entry:` and the hash, base64url; not a part of what is hashed. The last entry of each write has
     * it, and vouches for all that come before it in the chain.
     */
    readonly signature?: {
      /** Id of the key that signed. */
      readonly keyId: string;
      /** The signature. */
      readonly value: string;
    };
  };
}

/** A page of the audit trail. */
export interface AuditResponse extends RdcpAnswer {
  /** Newest first. */
  readonly entries: readonly AuditEntry[];
  /** `cursor` of the next page; absent on the last page. */
  readonly otelrdcp_next?: string;
  /** The credential is for these tenants: the entries are theirs and its own. Absent for the whole trail. */
  readonly otelrdcp_tenants?: readonly string[];
}
