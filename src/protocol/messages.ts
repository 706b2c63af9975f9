import type { AuthMethod, ControlAction, IsolationLevel, PROTOCOL, Scope, SecurityLevel } from './constants.ts';
import type { Emission } from './emission.ts';
import type { Timestamp } from './time.ts';

// Types of the RDCP 1.0 bodies. Fields named `otelrdcp_…` are vendor extensions of this implementation (RDCP 1.0,
// Extensibility, rule 2). Standard clients can ignore them.

/** Whose settings an answer is about. Present where there are tenants. */
export interface TenantContext {
  /** The tenant's id. */
  readonly id: string;
  /** How far the service separates its tenants, as configured. */
  readonly isolationLevel: IsolationLevel;
  /** `tenant-isolated` where the settings are the tenant's own, `global` where they are for everybody. */
  readonly scope: 'global' | 'tenant-isolated';
}

/** Fields of every response. */
export interface RdcpAnswer {
  /** Name and version of the protocol. */
  readonly protocol: typeof PROTOCOL;
  /** When the response was made. */
  readonly timestamp: Timestamp;
  /** In every response to an authenticated request in multi-tenant mode. */
  readonly tenant?: TenantContext;
}

/** The server's capabilities (RDCP 1.0, GET /.well-known/rdcp). */
export interface WellKnownDocument {
  /** Name and version of the protocol. */
  readonly protocol: typeof PROTOCOL;
  /** In responses to an authenticated request in multi-tenant mode. */
  readonly tenant?: TenantContext;
  /** Paths of the endpoints that every server of the protocol has. */
  readonly endpoints: {
    /** Lists the categories, with their state and calls. */
    readonly discovery: string;
    /** Switches categories. */
    readonly control: string;
    /** Says which categories are on. */
    readonly status: string;
    /** Says whether the server works. */
    readonly health: string;
  };
  /** What of the protocol's optional parts this server has. */
  readonly capabilities: {
    /** Whether it keeps settings for each tenant. */
    readonly multiTenancy: boolean;
    /** Whether it measures calls and the process. */
    readonly performanceMetrics: boolean;
    /** Whether a category can be switched for a time. */
    readonly temporaryControls: boolean;
    /** Whether it records who did what. */
    readonly auditTrail: boolean;
  };
  /** How clients authenticate. */
  readonly security: {
    /** The configured level of security. */
    readonly level: SecurityLevel;
    /** Kinds of credentials that are accepted. */
    readonly methods: readonly Exclude<AuthMethod, 'hybrid'>[];
    /** Scopes that a credential may have. */
    readonly scopes: readonly Scope[];
    /** Whether every request but health and this one needs a credential. */
    readonly required: boolean;
    /** Whether credentials can be replaced while the server runs. */
    readonly keyRotation: boolean;
    /** Whether the server issues tokens that can be refreshed. */
    readonly tokenRefresh: boolean;
  };
  /** Paths of the endpoints of this implementation that this server has, by name: `metrics`, `audit`, `tail`, … */
  readonly otelrdcp_endpoints: Readonly<Record<string, string>>;
  /** In responses to a request with a valid credential. */
  readonly otelrdcp_authenticated?: true;
  /** Where the console is, if the server has it. */
  readonly otelrdcp_console?: {
    /** Its path. */
    readonly page: string;
  };
  /** In responses to a credential with the scope `status`. */
  readonly otelrdcp_emit?: Emission;
}

/** The layer that determines a category's effective state. */
export type StateOrigin = 'default' | 'global' | 'tenant' | 'temporary';

/** What a control lets its categories emit. When `calls` or `bytes` are used up, the control ends. */
export interface ControlBudget {
  /** Calls a second. */
  readonly callsPerSecond?: number | undefined;
  /** Calls in all, counted by each process for itself. */
  readonly calls?: number | undefined;
  /** Bytes of text in all, counted by each process for itself. */
  readonly bytes?: number | undefined;
}

/** A budget in force, and what is left of it now. */
export interface BudgetState {
  /** Most calls a second. */
  readonly callsPerSecond?: number;
  /** Calls that may come at once. */
  readonly burst?: number;
  /** Most bytes of text a second. */
  readonly bytesPerSecond?: number;
  /** Calls that there is room for at once. */
  readonly callsLeftNow?: number;
  /** Of a control's totals, where it has any. */
  readonly callsLeft?: number;
  /** Bytes of text, where the control has a total of them. */
  readonly bytesLeft?: number;
}

/** The logger of another library that a category controls. */
export interface DiscoveredSource {
  /**
   * What the logger belongs to: a library, `util.debuglog` (`debuglog`), a diagnostics channel, an OpenTelemetry
   * scope (`otel`), or a call of `adopt()` (`custom`).
   */
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
  /** User of the credential. */
  readonly userId?: string;
  /** Client of the credential. */
  readonly clientId?: string;
  /** What the operator gave as the reason. */
  readonly reason?: string;
  /** When it was made. */
  readonly since: Timestamp;
}

/** A category with its state, why it has that, and what it emits. */
export interface DiscoveredCategory {
  /** Its name, such as `DATABASE`. */
  readonly name: string;
  /** What its registration says of it; empty if nothing. */
  readonly description: string;
  /** Whether it is on, for those that the answer is about. */
  readonly enabled: boolean;
  /** Whether a temporary control decides. */
  readonly temporary: boolean;
  /** Its calls while it was on. */
  readonly metrics: {
    /** Since the process started. */
    readonly callsTotal: number;
    /** Over the last 60 seconds, or the life of the process if that is shorter. */
    readonly callsPerSecond: number;
  };
  /** Default state from its registration. */
  readonly otelrdcp_default: boolean;
  /** What decides whether it is on. */
  readonly otelrdcp_origin: StateOrigin;
  /** When the temporary control ends. */
  readonly otelrdcp_expiresAt?: Timestamp;
  /** Who made the control that decides. A tenant does not see it of a control for everybody. */
  readonly otelrdcp_control?: DiscoveredControl;
  /** Of a category that is on: what it may emit in the process that answers; `false` for anything. */
  readonly otelrdcp_budget?: BudgetState | false;
  /** Of a category that is off: its configured budget, in calls per second; `false` for no limit. */
  readonly otelrdcp_configuredBudget?:
    | {
        /** Most calls a second. */
        readonly callsPerSecond: number;
      }
    | false;
  /** Its calls whose output was dropped, where there are any. */
  readonly otelrdcp_dropped?: number;
  /** Of an adopted category, in the process that answers. */
  readonly otelrdcp_source?: DiscoveredSource;
}

/** The registered categories. */
export interface DiscoveryResponse extends RdcpAnswer {
  /** Every registered category, sorted by name. */
  readonly categories: readonly DiscoveredCategory[];
  /** Calls of all categories. */
  readonly performance: {
    /** Since the process started. */
    readonly totalCalls: number;
    /** Over the last 60 seconds. */
    readonly callsPerSecond: number;
    /** Calls since the process started, by category. */
    readonly categoryBreakdown: Readonly<Record<string, number>>;
  };
}

/** What a control request made of one category. */
export interface ChangeRecord {
  /** Name of the category. */
  readonly category: string;
  /** Whether it was on before. */
  readonly previousState: boolean;
  /** Whether it is on now. */
  readonly newState: boolean;
  /** Whether the change ends by itself. */
  readonly temporary: boolean;
  /** When the change was made. */
  readonly effectiveAt: Timestamp;
  /** When a temporary change ends. */
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

/** What a control request did. */
export interface ControlResponse extends RdcpAnswer {
  /** The action of the request. */
  readonly action: ControlAction;
  /** Names of the categories that it was done to, `*` resolved. */
  readonly categories: readonly string[];
  /** `partial` if it is in force here, but not in every process or not in the store. */
  readonly status: 'success' | 'partial' | 'failed';
  /** What was done, in one sentence. */
  readonly message: string;
  /** One for each category. */
  readonly changes: readonly ChangeRecord[];
  /** With a shared store; absent while the store is unreachable. */
  readonly otelrdcp_fleet?: FleetSummary;
  /** In the response to a dry run: `changes` says what would change. */
  readonly otelrdcp_dryRun?: true;
  /**
   * Present where the tenant that an operator named may be misspelt: it is not configured, has no settings, and the
   * application has not worked for it in the responding process. The change was made all the same.
   */
  readonly otelrdcp_tenantKnown?: false;
}

/** Which categories are on. */
export interface StatusResponse extends RdcpAnswer {
  /** False while the whole instrumentation is switched off: then no category is on. */
  readonly enabled: boolean;
  /** Whether each registered category is on, by name. */
  readonly categories: Readonly<Record<string, boolean>>;
  /** Calls of all categories. */
  readonly performance: {
    /** Since the process started. */
    readonly totalCalls: number;
    /** Over the last 60 seconds. */
    readonly callsPerSecond: number;
  };
  /** With a shared store: which processes have applied its newest revision. */
  readonly otelrdcp_fleet?: FleetSummary;
}

/** One process that shares the store. */
export interface FleetMember {
  /** Id of the process (`service.instance.id`). */
  readonly id: string;
  /** Name of its host. */
  readonly host: string;
  /** Its process id on that host. */
  readonly pid: number;
  /** Name of its service (`service.name`). */
  readonly service: string;
  /** Version of its service (`service.version`), if known. */
  readonly version?: string;
  /** When it started. */
  readonly startedAt: Timestamp;
  /** Revision that the process has applied; absent if it has applied none of the store's current history. */
  readonly applied?: number;
  /** Whether the process has not applied the newest revision. */
  readonly pending: boolean;
  /** When it last announced itself in the store. */
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
  /** What is checked: `store`, `audit`, or a check of the application. */
  readonly name: string;
  /** `warn`: works, with a restriction. */
  readonly status: 'pass' | 'warn' | 'fail';
  /** How long the check took, in milliseconds, such as `2ms`. */
  readonly duration: string;
  /** Why the check does not pass, for the operator. */
  readonly otelrdcp_reason?: string;
  /** When this process first saw it fail, if it does not pass. */
  readonly otelrdcp_since?: Timestamp;
}

/** Whether the server works. */
export interface HealthResponse extends RdcpAnswer {
  /** The worst of the checks. `unhealthy` comes with the HTTP status 503. */
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
  /** The measured value. */
  readonly value: number;
  /** What it is counted in. */
  readonly unit: MetricUnit;
  /** Always true: nothing is estimated. */
  readonly measured: true;
  /** When it was measured. */
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

/** Measurements of the process and of each category. */
export interface MetricsResponse extends RdcpAnswer {
  /** Of the process, by name. */
  readonly metrics: Readonly<Partial<Record<ProcessMetricName, MetricValue>>>;
  /** Of each category, by its name. */
  readonly categories: Readonly<
    Record<
      string,
      {
        /** Since the process started. */
        readonly callsTotal: MetricValue;
        /** Over the last 60 seconds. */
        readonly callsPerSecond: MetricValue;
      }
    >
  >;
}

/** A tenant and the categories that are on for it. */
export interface TenantSummary {
  /** The tenant's id. */
  readonly id: string;
  /** Its configured name, if it has one. */
  readonly name?: string;
  /** How far the service separates its tenants, as configured. */
  readonly isolationLevel: IsolationLevel;
  /** Whose settings decide for it. */
  readonly scope: TenantContext['scope'];
  /** Whether each category is on for it, by name. */
  readonly categories: Readonly<Record<string, boolean>>;
  /** Number of its temporary controls in force. */
  readonly temporaryControls: number;
  /** When the settings of its scope last changed, if ever: where all tenants share them, those of all. */
  readonly lastChangedAt?: Timestamp;
}

/** The tenants that the credential may see. */
export interface TenantsResponse extends RdcpAnswer {
  /** Sorted by id, up to the limit of one response. */
  readonly tenants: readonly TenantSummary[];
  /** Total number of tenants, if not all are listed. A tenant named in the request is always listed. */
  readonly otelrdcp_total?: number;
}

/** The specification's auth context: response of the session endpoint. */
export interface SessionResponse extends RdcpAnswer {
  /** Always true: a request without a valid credential is answered with 401. */
  readonly authenticated: true;
  /** Kind of the credential. */
  readonly method: AuthMethod;
  /** User of the credential. */
  readonly userId: string;
  /** Tenant that the credential is bound to, if any. */
  readonly tenantId?: string;
  /** What it allows. */
  readonly scopes: readonly string[];
  /** Session of a token. */
  readonly sessionId?: string;
  /** When the credential ends; absent if it does not. */
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
  readonly tail?: {
    /** Lines a second. */
    readonly rate: number;
  };
}

/** Response of `POST /rdcp/v1/console/code`. */
export interface ConsoleCodeResponse extends RdcpAnswer {
  /** Works once, from the same machine. */
  readonly code: string;
  /** How long it works. */
  readonly expiresInSeconds: number;
}

/** Response of `POST /rdcp/v1/console/session`. */
export interface ConsoleSessionResponse extends RdcpAnswer {
  /** The credential that the code was made with. */
  readonly credential: {
    /** How to send it: `X-RDCP-API-Key` or `Authorization`. */
    readonly kind: 'api-key' | 'bearer';
    /** The API key or the token. */
    readonly value: string;
  };
}

/** The error envelope. The specification puts `protocol` both next to `error` (every body) and inside it (Errors). */
export interface ErrorResponse {
  /** Name and version of the protocol. */
  readonly protocol: typeof PROTOCOL;
  /** In responses to an authenticated request in multi-tenant mode. */
  readonly tenant?: TenantContext;
  /** What went wrong. */
  readonly error: {
    /** A stable code, such as `RDCP_CATEGORY_NOT_FOUND`. */
    readonly code: string;
    /** What was wrong and what is allowed, in a sentence. */
    readonly message: string;
    /** Kind of the credential, where authentication failed. */
    readonly method?: string;
    /** Machine-readable facts: `field`, `unknown`, `maximum`, … */
    readonly details?: Readonly<Record<string, unknown>>;
    /** Name and version of the protocol. */
    readonly protocol: typeof PROTOCOL;
  };
}
