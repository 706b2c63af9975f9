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

// Types of the RDCP 1.0 bodies. Fields named `otelrdcp_…` are vendor extensions of this implementation (RDCP 1.0,
// Extensibility, rule 2). Standard clients can ignore them.

/** Whose settings an answer is about. Present where there are tenants. */
export interface TenantContext {
  readonly id: string;
  readonly isolationLevel: IsolationLevel;
  readonly scope: 'global' | 'tenant-isolated';
}

/** Fields of every response. */
export interface RdcpAnswer {
  readonly protocol: typeof PROTOCOL;
  readonly timestamp: Timestamp;
  /** In every response to an authenticated request in multi-tenant mode. */
  readonly tenant?: TenantContext;
}

/** The server's capabilities (RDCP 1.0, GET /.well-known/rdcp). */
export interface WellKnownDocument {
  readonly protocol: typeof PROTOCOL;
  /** In responses to an authenticated request in multi-tenant mode. */
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
  /** In responses to a request with a valid credential. */
  readonly otelrdcp_authenticated?: true;
  /** Where the console is, if the server has it. */
  readonly otelrdcp_console?: { readonly page: string };
  /** In responses to a credential with the scope `status`. */
  readonly otelrdcp_emit?: Emission;
}

/** The layer that determines a category's effective state. */
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

/** The logger of another library that a category controls. */
export interface DiscoveredSource {
  readonly kind: 'debug' | 'pino' | 'winston' | 'nest' | 'debuglog' | 'channel' | 'otel' | 'custom';
  /** The logger's own name. Of several, the first in alphabetical order. */
  readonly name: string;
  /** Version of the library. */
  readonly version?: string;
  /** Number of loggers in the category. */
  readonly count: number;
}

/** Who made a temporary control, when and why. */
export interface DiscoveredControl {
  readonly userId?: string;
  readonly clientId?: string;
  readonly reason?: string;
  readonly since: Timestamp;
}

/** A category with its state, why it has that, and what it emits. */
export interface DiscoveredCategory {
  readonly name: string;
  readonly description: string;
  readonly enabled: boolean;
  readonly temporary: boolean;
  readonly metrics: { readonly callsTotal: number; readonly callsPerSecond: number };
  /** Default state from its registration. */
  readonly otelrdcp_default: boolean;
  readonly otelrdcp_origin: StateOrigin;
  readonly otelrdcp_expiresAt?: Timestamp;
  /** Who made the temporary control that decides. A tenant does not see it of a control for everybody. */
  readonly otelrdcp_control?: DiscoveredControl;
  /** Of a category that is on: what it may emit in the process that answers; `false` for anything. */
  readonly otelrdcp_budget?: BudgetState | false;
  /** Of a category that is off: its configured budget, in calls per second; `false` for no limit. */
  readonly otelrdcp_configuredBudget?: { readonly callsPerSecond: number } | false;
  /** Its calls whose output was dropped, where there are any. */
  readonly otelrdcp_dropped?: number;
  /** Of an adopted category, in the process that answers. */
  readonly otelrdcp_source?: DiscoveredSource;
}

export interface DiscoveryResponse extends RdcpAnswer {
  readonly categories: readonly DiscoveredCategory[];
  readonly performance: {
    readonly totalCalls: number;
    readonly callsPerSecond: number;
    readonly categoryBreakdown: Readonly<Record<string, number>>;
  };
}

/** What a control request made of one category. */
export interface ChangeRecord {
  readonly category: string;
  readonly previousState: boolean;
  readonly newState: boolean;
  readonly temporary: boolean;
  readonly effectiveAt: Timestamp;
  readonly expiresAt?: Timestamp;
}

/** How many processes sharing a store have applied a revision. */
export interface FleetSummary {
  /** The revision of the change, or the store's newest. */
  readonly revision: number;
  /** Number of running processes, including the responding one. */
  readonly instances: number;
  /** Number of processes that have applied the revision. */
  readonly applied: number;
  /** Ids of the processes that have not. */
  readonly pending: readonly string[];
}

export interface ControlResponse extends RdcpAnswer {
  readonly action: ControlAction;
  readonly categories: readonly string[];
  readonly status: 'success' | 'partial' | 'failed';
  readonly message: string;
  readonly changes: readonly ChangeRecord[];
  /** With a shared store; absent while the store is unreachable. */
  readonly otelrdcp_fleet?: FleetSummary;
  /** In the response to a dry run: `changes` says what would change. */
  readonly otelrdcp_dryRun?: true;
}

export interface StatusResponse extends RdcpAnswer {
  readonly enabled: boolean;
  readonly categories: Readonly<Record<string, boolean>>;
  readonly performance: { readonly totalCalls: number; readonly callsPerSecond: number };
  /** With a shared store: which processes have applied its newest revision. */
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
  /** Revision that the process has applied; absent if it has applied none of the store's current history. */
  readonly applied?: number;
  /** Whether the process has not applied the newest revision. */
  readonly pending: boolean;
  readonly lastSeenAt: Timestamp;
}

/** Response of the fleet endpoint, an extension of this implementation. */
export interface FleetResponse extends RdcpAnswer {
  /** The store's newest revision. */
  readonly revision: number;
  /** Sorted by host, then process id. */
  readonly instances: readonly FleetMember[];
}

/** The result of one health check. */
export interface HealthCheckRecord {
  readonly name: string;
  readonly status: 'pass' | 'warn' | 'fail';
  readonly duration: string;
  /** Why the check does not pass, for the operator. */
  readonly otelrdcp_reason?: string;
  /** When this process first saw it fail, if it does not pass. */
  readonly otelrdcp_since?: Timestamp;
}

export interface HealthResponse extends RdcpAnswer {
  readonly status: 'healthy' | 'degraded' | 'unhealthy';
  /** Empty for requests without a credential: a load balancer's probe gets only the overall status. */
  readonly checks: readonly HealthCheckRecord[];
  /** In responses to a credential with the scope `status`: the output of debug calls. */
  readonly otelrdcp_emit?: Emission;
}

/** Standard units of RDCP 1.0, Metric representation, and one of ours. */
export type MetricUnit = 'percent' | 'bytes' | 'per_second' | 'count' | 'milliseconds' | 'gigabytes_per_day';

/** A measurement with its unit. */
export interface MetricValue {
  readonly value: number;
  readonly unit: MetricUnit;
  readonly measured: true;
  readonly timestamp: Timestamp;
}

/** Metrics of the process and the endpoint. Values that cannot be measured are omitted, never estimated. */
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

/** A tenant and the categories that are on for it. */
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
  /** Sorted by id, up to the limit of one response. */
  readonly tenants: readonly TenantSummary[];
  /** Total number of tenants, if not all are listed. A tenant named in the request is always listed. */
  readonly otelrdcp_total?: number;
}

/** What an entry of the trail records. See docs/audit.md. */
export type AuditAction = (typeof AUDIT_ACTIONS)[number];
/** How it ended; `partial`: not in every process, or not in the store. */
export type AuditOutcome = 'success' | 'partial' | 'failed' | 'denied';

/** Who made a request, as far as the credential says. */
export interface AuditIdentity {
  readonly method?: AuthMethod;
  readonly userId?: string;
  readonly clientId?: string;
  readonly scopes?: readonly string[];
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
    readonly chains: readonly { readonly instanceId: string; readonly sequence: number; readonly hash: string }[];
  };
  readonly compliance: {
    /** Absent in the first format, whose prune entries have no `dropped`. */
    readonly format?: 2;
    readonly securityLevel: SecurityLevel;
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
  /** `cursor` of the next page; absent on the last page. */
  readonly otelrdcp_next?: string;
}

/** The specification's auth context: response of the session endpoint. */
export interface SessionResponse extends RdcpAnswer {
  readonly authenticated: true;
  readonly method: AuthMethod;
  readonly userId: string;
  readonly tenantId?: string;
  readonly scopes: readonly string[];
  readonly sessionId?: string;
  readonly expiresAt?: Timestamp;
  /** Present if the endpoint serves the console. */
  readonly otelrdcp_console?: ConsoleSettings;
}

/** What the console learns from its endpoint. */
export interface ConsoleSettings {
  /** Template of a trace's address, with `{traceId}` and perhaps `{spanId}`. */
  readonly traceUrl?: string;
  /** Longest temporary control, and longest tail. */
  readonly maxDurationSeconds: number;
  /** Where this credential may tail: lines a second, unless it asks for another rate. */
  readonly tail?: { readonly rate: number };
}

/** Response of `POST /rdcp/v1/console/code`. */
export interface ConsoleCodeResponse extends RdcpAnswer {
  /** Works once, from the same machine. */
  readonly code: string;
  readonly expiresInSeconds: number;
}

/** Response of `POST /rdcp/v1/console/session`. */
export interface ConsoleSessionResponse extends RdcpAnswer {
  /** The credential that the code was made with. */
  readonly credential: {
    readonly kind: 'api-key' | 'bearer';
    readonly value: string;
  };
}

/** Response of the token endpoint (RFC 6749, section 5.1; RFC 8693, section 2.2.1). */
export interface TokenGrant {
  readonly access_token: string;
  readonly token_type: 'Bearer';
  /** Lifetime of the access token, in seconds. */
  readonly expires_in: number;
  /** Separated by single spaces. */
  readonly scope: string;
  /** Present if the session can be refreshed. */
  readonly refresh_token?: string;
  /** In responses to a token exchange. */
  readonly issued_token_type?: string;
}

export interface TokenResponse extends RdcpAnswer, TokenGrant {}

/** Response of the introspection endpoint (RFC 7662, section 2.2). Inactive tokens have no further fields. */
export type IntrospectionResponse = { readonly active: false } | ActiveToken;

/** A token that is accepted (RFC 7662, section 2.2). */
export interface ActiveToken {
  readonly active: true;
  /** `N_A` for a refresh token, which resource servers must not accept (RFC 8693, section 2.2.1). */
  readonly token_type: 'Bearer' | 'N_A';
  readonly token_use: 'access_token' | 'refresh_token';
  /** Separated by single spaces. */
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
  /** Thumbprint of the certificate that the token is bound to (RFC 8705, section 3.2). */
  readonly cnf?: { readonly 'x5t#S256': string };
}

/** Authorization server metadata (RFC 8414, section 2). */
export interface AuthorizationServerMetadata {
  readonly issuer: string;
  readonly token_endpoint: string;
  readonly token_endpoint_auth_methods_supported: readonly string[];
  readonly revocation_endpoint: string;
  readonly revocation_endpoint_auth_methods_supported: readonly string[];
  readonly introspection_endpoint: string;
  readonly introspection_endpoint_auth_methods_supported: readonly string[];
  /** URL of the public keys that verify tokens. */
  readonly jwks_uri?: string;
  readonly grant_types_supported: readonly string[];
  /** Required by the RFC; empty because there is no authorization endpoint. */
  readonly response_types_supported: readonly string[];
  readonly scopes_supported: readonly Scope[];
  /** RFC 8705: tokens requested with a client certificate are bound to it. */
  readonly tls_client_certificate_bound_access_tokens: boolean;
}

/** Error of an OAuth endpoint (RFC 6749, section 5.2). */
export interface OAuthErrorResponse {
  readonly error: string;
  readonly error_description?: string;
}

/** The error envelope. The specification puts `protocol` both next to `error` (every body) and inside it (Errors). */
export interface ErrorResponse {
  readonly protocol: typeof PROTOCOL;
  /** In responses to an authenticated request in multi-tenant mode. */
  readonly tenant?: TenantContext;
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly method?: string;
    readonly details?: Readonly<Record<string, unknown>>;
    readonly protocol: typeof PROTOCOL;
  };
}
