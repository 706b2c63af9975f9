import type { AUDIT_ACTIONS, AuthMethod, SecurityLevel } from './constants.ts';
import type { ChangeRecord, ControlBudget, RdcpAnswer } from './messages.ts';
import type { Timestamp } from './time.ts';

// Entries of the audit trail, as the store and the answers have them.

/** What an entry of the trail records. See docs/audit.md. */
export type AuditAction = (typeof AUDIT_ACTIONS)[number];
/** How it ended; `partial`: not in every process, or not in the store. */
export type AuditOutcome = 'success' | 'partial' | 'failed' | 'denied';

/** Who made a request, as far as the credential says. */
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
 * Why the server ended a tail: its time is over, its number of lines was reached, the credential expired or was revoked, or
 * the server shuts down.
 */
export type TailEndReason = 'expired' | 'budget' | 'revoked' | 'shutdown';

/** One entry of the audit trail, in the store and in responses. */
export interface AuditEntry {
  /** The entry's own id, a UUID. */
  readonly id: string;
  /** When it was written. */
  readonly timestamp: Timestamp;
  /** What was done or tried. */
  readonly action: AuditAction;
  /** Categories that it was about. */
  readonly categories: readonly string[];
  /** What changed; empty for anything but a change. */
  readonly changes: readonly ChangeRecord[];
  /** How it ended. */
  readonly outcome: AuditOutcome;
  /** Who did it; empty for what the server does by itself, such as an expiry. */
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
  /** What the operator gave as the reason. */
  readonly reason?: string;
  /** The option of the control. */
  readonly otelrdcp_budget?: ControlBudget | false;
  /** Where the request came from. */
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
    readonly chains: readonly {
      /** Process that wrote the chain. */
      readonly instanceId: string;
      /** Its position in the chain. */
      readonly sequence: number;
      /** Its hash. */
      readonly hash: string;
    }[];
  };
  /** What makes the trail verifiable: its place in a chain of hashes. */
  readonly compliance: {
    /** Absent in the first format, whose prune entries have no `dropped`. */
    readonly format?: 2;
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
}
