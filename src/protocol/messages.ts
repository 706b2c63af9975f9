import type {
  AUDIT_ACTIONS,
  AuthMethod,
  ControlAction,
  IsolationLevel,
  PROTOCOL,
  Scope,
  SecurityLevel,
} from './constants.ts';
import type { Emission } from './emission.ts';
import type { Timestamp } from './time.ts';

// The bodies of RDCP 1.0 as types. Fields named `otelrdcp_…` are additions of this implementation under its vendor
// prefix (RDCP 1.0, Extensibility, rule 2): a standard client never needs them.

export interface TenantContext {
  readonly id: string;
  readonly isolationLevel: IsolationLevel;
  readonly scope: 'global' | 'tenant-isolated';
}

/** What every answer has. */
export interface RdcpAnswer {
  readonly protocol: typeof PROTOCOL;
  readonly timestamp: Timestamp;
  /** In every answer to an authenticated request in multi-tenant mode. */
  readonly tenant?: TenantContext;
}

export interface WellKnownDocument {
  readonly protocol: typeof PROTOCOL;
  /** In answers to an authenticated request in multi-tenant mode. */
  readonly tenant?: TenantContext;
  readonly endpoints: {
    readonly discovery: string;
    readonly control: string;
    readonly status: string;
    readonly health: string;
  };
  readonly capabilities: {
    readonly multiTenancy: boolean;
    readonly performanceMetrics: boolean;
    readonly temporaryControls: boolean;
    readonly auditTrail: boolean;
  };
  readonly security: {
    readonly level: SecurityLevel;
    readonly methods: readonly Exclude<AuthMethod, 'hybrid'>[];
    readonly scopes: readonly Scope[];
    readonly required: boolean;
    readonly keyRotation: boolean;
    readonly tokenRefresh: boolean;
  };
  readonly otelrdcp_endpoints: Readonly<Record<string, string>>;
  /** In answers to a credential with the scope `status`. */
  readonly otelrdcp_emit?: Emission;
}

/** Which layer decides a category's effective state. */
export type StateOrigin = 'default' | 'global' | 'tenant' | 'temporary';

/** What a control lets its categories emit. When `calls` or `bytes` are used up, the control ends. */
export interface ControlBudget {
  readonly callsPerSecond?: number | undefined;
  readonly calls?: number | undefined;
  readonly bytes?: number | undefined;
}

/** A budget in force, and what is left of it now. */
export interface BudgetState {
  readonly callsPerSecond?: number;
  /** Calls that may come at once. */
  readonly burst?: number;
  readonly bytesPerSecond?: number;
  /** Calls that there is room for at once. */
  readonly callsLeftNow?: number;
  /** Of a control's totals, where it has any. */
  readonly callsLeft?: number;
  readonly bytesLeft?: number;
}

export interface DiscoveredCategory {
  readonly name: string;
  readonly description: string;
  readonly enabled: boolean;
  readonly temporary: boolean;
  readonly metrics: { readonly callsTotal: number; readonly callsPerSecond: number };
  /** The state it was registered with. */
  readonly otelrdcp_default: boolean;
  readonly otelrdcp_origin: StateOrigin;
  readonly otelrdcp_expiresAt?: Timestamp;
  /** Of a category that is on: what it may emit in the process that answers; `false` for anything. */
  readonly otelrdcp_budget?: BudgetState | false;
  /** Its calls whose output was dropped, where there are any. */
  readonly otelrdcp_dropped?: number;
}

export interface DiscoveryResponse extends RdcpAnswer {
  readonly categories: readonly DiscoveredCategory[];
  readonly performance: {
    readonly totalCalls: number;
    readonly callsPerSecond: number;
    readonly categoryBreakdown: Readonly<Record<string, number>>;
  };
}

export interface ChangeRecord {
  readonly category: string;
  readonly previousState: boolean;
  readonly newState: boolean;
  readonly temporary: boolean;
  readonly effectiveAt: Timestamp;
  readonly expiresAt?: Timestamp;
}

/** How far the processes that share a store are with its revision. */
export interface FleetSummary {
  /** The store's revision that is meant: the one that a change came to, or the newest. */
  readonly revision: number;
  /** Processes that are there, the answering one included. */
  readonly instances: number;
  /** How many of them have applied everything up to that revision. */
  readonly applied: number;
  /** Ids of the others. */
  readonly pending: readonly string[];
}

export interface ControlResponse extends RdcpAnswer {
  readonly action: ControlAction;
  readonly categories: readonly string[];
  readonly status: 'success' | 'partial' | 'failed';
  readonly message: string;
  readonly changes: readonly ChangeRecord[];
  /** Where processes share a store; absent when the store cannot be asked who is there. */
  readonly otelrdcp_fleet?: FleetSummary;
}

export interface StatusResponse extends RdcpAnswer {
  readonly enabled: boolean;
  readonly categories: Readonly<Record<string, boolean>>;
  readonly performance: { readonly totalCalls: number; readonly callsPerSecond: number };
  /** Where processes share a store: how far they are with its newest revision. */
  readonly otelrdcp_fleet?: FleetSummary;
}

/** One process that shares the store. */
export interface FleetMember {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly service: string;
  readonly version?: string;
  readonly startedAt: Timestamp;
  /** Every change up to this revision is applied there; absent when none of the store's present history is. */
  readonly applied?: number;
  /** Whether changes are missing there. */
  readonly pending: boolean;
  readonly lastSeenAt: Timestamp;
}

/** Answered by the fleet endpoint, which this implementation adds. */
export interface FleetResponse extends RdcpAnswer {
  /** The store's newest revision. */
  readonly revision: number;
  /** Sorted by host, then process id. */
  readonly instances: readonly FleetMember[];
}

export interface HealthCheckRecord {
  readonly name: string;
  readonly status: 'pass' | 'warn' | 'fail';
  readonly duration: string;
  /** Why it does not pass, in words for the operator. */
  readonly otelrdcp_reason?: string;
}

export interface HealthResponse extends RdcpAnswer {
  readonly status: 'healthy' | 'degraded' | 'unhealthy';
  /** Empty when the request carried no credential: a load balancer's probe learns the overall status alone. */
  readonly checks: readonly HealthCheckRecord[];
  /** In answers to a credential with the scope `status`: where debug calls go. */
  readonly otelrdcp_emit?: Emission;
}

/** Standard units of RDCP 1.0, Metric representation. */
export type MetricUnit = 'percent' | 'bytes' | 'per_second' | 'count' | 'milliseconds';

export interface MetricValue {
  readonly value: number;
  readonly unit: MetricUnit;
  readonly measured: true;
  readonly timestamp: Timestamp;
}

/** What is measured of the process and the endpoint; what cannot be measured is left out, never estimated. */
export type ProcessMetricName =
  | 'callsTotal'
  | 'callsPerSecond'
  | 'cpuUsage'
  | 'memoryUsage'
  | 'heapUsed'
  | 'eventLoopDelay'
  | 'temporaryControls';

export interface MetricsResponse extends RdcpAnswer {
  readonly metrics: Readonly<Partial<Record<ProcessMetricName, MetricValue>>>;
  readonly categories: Readonly<
    Record<string, { readonly callsTotal: MetricValue; readonly callsPerSecond: MetricValue }>
  >;
}

export interface TenantSummary {
  readonly id: string;
  readonly name?: string;
  readonly isolationLevel: IsolationLevel;
  readonly scope: TenantContext['scope'];
  readonly categories: Readonly<Record<string, boolean>>;
  readonly temporaryControls: number;
  readonly lastChangedAt?: Timestamp;
}

export interface TenantsResponse extends RdcpAnswer {
  /** Sorted by id, as many as one answer may hold. */
  readonly tenants: readonly TenantSummary[];
  /** How many tenants there are, where that is more than are listed: one that is named is always shown. */
  readonly otelrdcp_total?: number;
}

export type AuditAction = (typeof AUDIT_ACTIONS)[number];
export type AuditOutcome = 'success' | 'partial' | 'failed' | 'denied';

export interface AuditIdentity {
  readonly method?: AuthMethod;
  readonly userId?: string;
  readonly clientId?: string;
  readonly scopes?: readonly string[];
  readonly sessionId?: string;
}

/** One line of the trail, as the audit endpoint shows it and as the store keeps it. */
export interface AuditEntry {
  readonly id: string;
  readonly timestamp: Timestamp;
  readonly action: AuditAction;
  readonly categories: readonly string[];
  readonly changes: readonly ChangeRecord[];
  readonly outcome: AuditOutcome;
  readonly identity: AuditIdentity;
  readonly tenant?: { readonly id: string; readonly name?: string };
  readonly requestId?: string;
  readonly reason?: string;
  /** The option of the control. */
  readonly otelrdcp_budget?: ControlBudget | false;
  readonly source?: { readonly address?: string; readonly userAgent?: string };
  /** An error code, on refusals and failures. */
  readonly error?: string;
  /** How many requests an aggregate entry stands for; absent means one. */
  readonly count?: number;
  /** On a `prune`: what it drops. */
  readonly dropped?: {
    /** Everything that is dropped was retained until then, or less long. */
    readonly until: Timestamp;
    /** The last entry that is dropped of each chain. */
    readonly chains: readonly { readonly instanceId: string; readonly sequence: number; readonly hash: string }[];
  };
  readonly compliance: {
    /** Absent in the first format, whose prunes do not name what they drop. */
    readonly format?: 2;
    readonly securityLevel: SecurityLevel;
    readonly instanceId: string;
    /** Position in this process's chain, from 1. */
    readonly sequence: number;
    /** `hash` of the entry before it in the chain; 64 zeros where there is none. */
    readonly previousHash: string;
    /**
     * Until when the entry of `previousHash` is retained: in the first entry of a process, and in one that was written when
     * that time was over, or nearly.
     */
    readonly previousRetainUntil?: Timestamp;
    /** SHA-256 over the canonical JSON (RFC 8785) of the entry without this field and `signature`, lower-case hex. */
    readonly hash: string;
    readonly retainUntil: Timestamp;
    /**
     * Ed25519 over `rdcp.audit.entry:` and the hash, base64url; not a part of what is hashed. The last entry of each write has
     * it, and vouches for all that come before it in the chain.
     */
    readonly signature?: { readonly keyId: string; readonly value: string };
  };
}

export interface AuditResponse extends RdcpAnswer {
  readonly entries: readonly AuditEntry[];
  /** Pass it as `cursor` to read on; absent on the last page. */
  readonly otelrdcp_next?: string;
}

/** The specification's auth context, answered by the session endpoint. */
export interface SessionResponse extends RdcpAnswer {
  readonly authenticated: true;
  readonly method: AuthMethod;
  readonly userId: string;
  readonly tenantId?: string;
  readonly scopes: readonly string[];
  readonly sessionId?: string;
  readonly expiresAt?: Timestamp;
}

/** What the token endpoint grants (RFC 6749, section 5.1; RFC 8693, section 2.2.1). */
export interface TokenGrant {
  readonly access_token: string;
  readonly token_type: 'Bearer';
  /** Life of the access token, in seconds. */
  readonly expires_in: number;
  /** With one space between them. */
  readonly scope: string;
  /** Where the session can be refreshed. */
  readonly refresh_token?: string;
  /** In answers to a token exchange. */
  readonly issued_token_type?: string;
}

export interface TokenResponse extends RdcpAnswer, TokenGrant {}

/** What the introspection endpoint answers (RFC 7662, section 2.2). Of a token that is not active it says nothing else. */
export type IntrospectionResponse = { readonly active: false } | ActiveToken;

export interface ActiveToken {
  readonly active: true;
  /** `N_A` of a refresh token, which no resource server may accept (RFC 8693, section 2.2.1). */
  readonly token_type: 'Bearer' | 'N_A';
  readonly token_use: 'access_token' | 'refresh_token';
  /** With one space between them. */
  readonly scope: string;
  readonly client_id?: string;
  readonly sub: string;
  readonly iss: string;
  readonly aud: string | readonly string[];
  /** Seconds since the epoch. */
  readonly exp: number;
  /** Seconds since the epoch. */
  readonly iat?: number;
  readonly jti?: string;
  /** The session that the token belongs to. */
  readonly sid: string;
  readonly tenant_id?: string;
  /** The certificate without which the token is worth nothing (RFC 8705, section 3.2). */
  readonly cnf?: { readonly 'x5t#S256': string };
}

/** What an OAuth client finds at the well-known address (RFC 8414, section 2). */
export interface AuthorizationServerMetadata {
  readonly issuer: string;
  readonly token_endpoint: string;
  readonly token_endpoint_auth_methods_supported: readonly string[];
  readonly revocation_endpoint: string;
  readonly revocation_endpoint_auth_methods_supported: readonly string[];
  readonly introspection_endpoint: string;
  readonly introspection_endpoint_auth_methods_supported: readonly string[];
  /** Where the server publishes the keys that tokens are verified with. */
  readonly jwks_uri?: string;
  readonly grant_types_supported: readonly string[];
  /** Required by the RFC, and empty: there is no authorization endpoint. */
  readonly response_types_supported: readonly string[];
  readonly scopes_supported: readonly Scope[];
  /** RFC 8705: tokens that are asked for with a client certificate are bound to it. */
  readonly tls_client_certificate_bound_access_tokens: boolean;
}

/** A refusal by an endpoint of OAuth (RFC 6749, section 5.2). */
export interface OAuthErrorResponse {
  readonly error: string;
  readonly error_description?: string;
}

/**
 * The error envelope. The specification can be read as `protocol` beside `error` (every body carries it) and as part of
 * it (Errors), so it stands in both places.
 */
export interface ErrorResponse {
  readonly protocol: typeof PROTOCOL;
  /** In answers to an authenticated request in multi-tenant mode. */
  readonly tenant?: TenantContext;
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly method?: string;
    readonly details?: Readonly<Record<string, unknown>>;
    readonly protocol: typeof PROTOCOL;
  };
}
