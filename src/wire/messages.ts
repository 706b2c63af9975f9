import type { Allow } from './allow.ts';
import type { AuthMethod, ControlAction, IsolationLevel, Level, PROTOCOL, Scope, SecurityLevel } from './constants.ts';
import type { Emission } from './emission.ts';
import type { ControlTarget, LineFilter, When } from './target.ts';
import type { Timestamp } from './time.ts';

// Types of the RDCP 1.0 bodies. Fields named `otelrdcp_…` are vendor extensions of this implementation (RDCP 1.0,
// Extensibility, rule 2). Standard clients can ignore them.

/** The tenant whose settings an answer is about. Present where there are tenants. */
export interface TenantContext {
  /** The tenant's id. */
  readonly id: string;
  /** How far the service separates its tenants, as configured. */
  readonly isolationLevel: IsolationLevel;
  /** `tenant-isolated` where the settings are the tenant's own, `global` where they are for all. */
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
export interface WellKnownDocument extends Omit<RdcpAnswer, 'timestamp'> {
  /** Paths of the endpoints that every server of the protocol has. */
  readonly endpoints: Readonly<Record<'discovery' | 'control' | 'status' | 'health', string>>;
  /** Optional parts of the protocol that this server has. */
  readonly capabilities: Readonly<
    Record<'multiTenancy' | 'performanceMetrics' | 'temporaryControls' | 'auditTrail', boolean>
  >;
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
  /** The console, if the server has it. */
  readonly otelrdcp_console?: {
    /** Its path. */
    readonly page: string;
  };
  /** In responses to a credential with the scope `status`. */
  readonly otelrdcp_emit?: Emission;
}

/** The layer that determines a category's effective state. */
export type StateOrigin = 'default' | 'global' | 'tenant' | 'temporary';

/** Limits that a control sets for its categories. When `calls` or `bytes` are used up, the control ends. */
export interface ControlBudget {
  /** Calls a second. @default the configured budget */
  readonly callsPerSecond?: number | undefined;
  /** Calls in all, counted by each process for itself. @default no limit */
  readonly calls?: number | undefined;
  /** Bytes of text in all, counted by each process for itself. @default no limit */
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
  /** Calls left, where the control has a total of them. */
  readonly callsLeft?: number;
  /** Bytes of text left, where the control has a total of them. */
  readonly bytesLeft?: number;
}

/** The logger of another library that a category controls. */
export interface DiscoveredSource {
  /**
   * The source of the logger: a library, `util.debuglog` (`debuglog`), a diagnostics channel, an OpenTelemetry
   * scope (`otel`), or a call of `adopt()` (`custom`).
   */
  readonly kind: 'debug' | 'pino' | 'winston' | 'nest' | 'debuglog' | 'channel' | 'otel' | 'custom';
  /** The logger's own name. The first in alphabetical order, if there are several. */
  readonly name: string;
  /** Version of the library. */
  readonly version?: string;
  /** The package in `node_modules` that made the logger, such as `body-parser`. Absent for loggers that the application makes or calls. */
  readonly package?: string;
  /** Number of loggers in the category. */
  readonly count: number;
  /** Number of them that write debug lines by themselves until the category is switched. Absent for none. */
  readonly onByItself?: number;
}

/** The maker of a temporary control, its time and reason. */
export interface DiscoveredControl {
  /** User of the credential. */
  readonly userId?: string;
  /** Client of the credential. */
  readonly clientId?: string;
  /** The operator's reason. */
  readonly reason?: string;
  /** When it was made. */
  readonly since: Timestamp;
}

/** A tenant's own setting of a category. */
export interface TenantSetting {
  /** The tenant's id. */
  readonly id: string;
  /** Whether the category is on for it. */
  readonly enabled: boolean;
  /** Whether the setting ends by itself. */
  readonly temporary: boolean;
  /** When a temporary setting ends. */
  readonly expiresAt?: Timestamp;
  /** The least urgent level that comes out; absent for every line. */
  readonly level?: Level;
  /** Who made it, when and why, if known. */
  readonly control?: DiscoveredControl;
}

/** Tenants whose own setting has a category on, or has it off although it is on for everybody. */
export interface TenantSettings {
  /** Number of tenants that have it on for a while. */
  readonly temporary: number;
  /** Number of tenants that have it on permanently. */
  readonly permanent: number;
  /** The first 20 of them all, sorted by id. */
  readonly tenants: readonly TenantSetting[];
  /** Number of those that are not listed. */
  readonly more: number;
}

/** Categories that are on for a part of the work, or of the lines, or recorded. */
export interface DiscoveredActivation {
  /** Ends this activation alone, as `options.otelrdcp_id` of a `disable` or `reset`. */
  readonly id: string;
  /** Names of its categories. */
  readonly categories: readonly string[];
  /** The tenant whose work it is for; absent for the work of all. */
  readonly tenant?: string;
  /**
   * Whose work it is for; absent for all work. For everyone but who made it, and `admin` without a tenant, each value of
   * `match` is `hmac:` and 12 characters: values are personal data.
   */
  readonly target?: ControlTarget;
  /** The lines that it is for; absent for all lines. */
  readonly filter?: LineFilter;
  /** The work whose lines are written, once it has ended; until then they are recorded. Absent for lines that are written at once. */
  readonly when?: When;
  /** Calls are kept in memory, and none is written. */
  readonly record?: true;
  /** The least urgent level of the lines that come out; absent for every line. */
  readonly level?: Level;
  /** Its own budget for each category; absent for the configured one, `false` for none. */
  readonly budget?: ControlBudget | false;
  /** When it ends; absent for what is recorded without an end. */
  readonly expiresAt?: Timestamp;
  /** The operator's reason. */
  readonly reason?: string;
  /** Who made it, and when. Hidden from a tenant if it is for all tenants. */
  readonly by?: Omit<DiscoveredControl, 'reason'>;
}

/** What a request carries so that categories are on for it. */
export interface RequestTicket {
  /** The value of the header `baggage`. A credential: keep it as you keep a token. */
  readonly baggage: string;
  /** When it ends; a signed ticket may end before its activation. */
  readonly expiresAt: Timestamp;
}

/** A category with its state, why it has that, and what it emits. */
export interface DiscoveredCategory {
  /** Its name, such as `DATABASE`. */
  readonly name: string;
  /** Its description; empty without one. */
  readonly description: string;
  /** Whether it is on, for those that the answer is about. */
  readonly enabled: boolean;
  /** Whether a temporary control decides. */
  readonly temporary: boolean;
  /** Its calls while it was on; with a shared store, in all processes. */
  readonly metrics: {
    /** Since the processes started. */
    readonly callsTotal: number;
    /** Over the last 60 seconds, or the life of a process if that is shorter. */
    readonly callsPerSecond: number;
  };
  /** Default state from its registration. */
  readonly otelrdcp_default: boolean;
  /** The setting that decides whether it is on. */
  readonly otelrdcp_origin: StateOrigin;
  /** When the temporary control ends. */
  readonly otelrdcp_expiresAt?: Timestamp;
  /**
   * The least urgent level that comes out while it is on; absent for every line. `warn` and `error` quieten loggers: lines that
   * are less urgent are not written.
   */
  readonly otelrdcp_level?: Level;
  /** The maker of the control that decides. Hidden from a tenant if the control is for all tenants. */
  readonly otelrdcp_control?: DiscoveredControl;
  /** Tenants with another setting, for those who may see all tenants and ask about everybody; absent if there is none. */
  readonly otelrdcp_settings?: TenantSettings;
  /** Its calls, or those of some work, are kept in memory; while it is off, none is written. Absent if it is not recorded. */
  readonly otelrdcp_recorded?: true;
  /** Activations of the category in force, which leave `enabled` as it is; absent if there is none. */
  readonly otelrdcp_activations?: readonly DiscoveredActivation[];
  /** What became of the calls that were recorded, in all processes of the fleet. Absent if there is none. */
  readonly otelrdcp_recorder?: {
    /** Of work that failed or was slow. */
    readonly written: number;
    /** Of other work. */
    readonly forgotten: number;
    /** Beyond a limit. */
    readonly cut: number;
  };
  /** Lines that the filters of its activations could not be evaluated for, in the responding process. Absent for none. */
  readonly otelrdcp_unevaluated?: number;
  /** Limits of a category that is on, in the responding process; `false` for none. */
  readonly otelrdcp_budget?: BudgetState | false;
  /** The configured budget of a category that is off, in calls per second; `false` for no limit. */
  readonly otelrdcp_configuredBudget?:
    | {
        /** Most calls a second. */
        readonly callsPerSecond: number;
      }
    | false;
  /** Its calls whose output was dropped, in all processes of the fleet, where there are any. */
  readonly otelrdcp_dropped?: number;
  /** The loggers of an adopted category, in the responding process, or in one that has the category. */
  readonly otelrdcp_source?: DiscoveredSource;
  /** With a shared store: present if not all processes have the category. */
  readonly otelrdcp_instances?: CategoryInstances;
}

/** Which processes the calls of an answer are of. */
export interface CountedInstances {
  /** Number of processes that share the store, including the responding one. */
  readonly of: number;
  /** Number of those whose calls were all counted: an older release does not announce them. */
  readonly counted: number;
  /** Number of those that are not heard of; absent if there is none. */
  readonly silent?: number;
}

/** Calls of all categories. */
export interface CallTotals {
  /** Since the process started. */
  readonly totalCalls: number;
  /** Over the last 60 seconds. */
  readonly callsPerSecond: number;
}

/** Calls of all categories, and by category where there are any. */
export interface ProcessCalls extends CallTotals {
  /** By name, of the categories that were called. */
  readonly categories: Readonly<Record<string, DiscoveredCategory['metrics']>>;
}

/** The members of an answer that say whose calls it counts; present with a shared store. */
export interface FleetCalls {
  /** Whose calls the figures of this answer are. */
  readonly otelrdcp_instances?: CountedInstances;
  /** The part of the responding process. */
  readonly otelrdcp_process?: ProcessCalls;
}

/** What the recorder of the responding process keeps of work that has ended. */
export interface RecorderReach {
  /** How far back it reaches without a gap; absent while nothing is kept. */
  readonly reachesBack?: string;
  /** Number of pieces of work. */
  readonly works: number;
  /** Their size in bytes. */
  readonly bytes: number;
}

/** The member of an answer that says how far back the recorder reaches. */
export interface WithReach {
  /** For credentials that may tail, while the recorder keeps work that has ended. Hidden from isolated tenants. */
  readonly otelrdcp_recorder?: RecorderReach;
}

/** The registered categories. */
export interface DiscoveryResponse extends RdcpAnswer, FleetCalls, WithReach {
  /** Every registered category, sorted by name. */
  readonly categories: readonly DiscoveredCategory[];
  /** Calls of all categories. */
  readonly performance: CallTotals & {
    /** Calls since the process started, by category. */
    readonly categoryBreakdown: Readonly<Record<string, number>>;
  };
}

/** The effect of a control request on one category. */
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
  /** The least urgent level that comes out now; absent for every line. */
  readonly otelrdcp_level?: Level;
}

/** How many processes sharing a store have applied a revision. */
export interface FleetSummary {
  /** The revision of the change, or the store's newest. */
  readonly revision: number;
  /** Number of processes, including the responding one, that have not shut down and may still run. */
  readonly instances: number;
  /** Number of processes that have applied the revision. */
  readonly applied: number;
  /** Ids of the others. */
  readonly pending: readonly string[];
  /** When those of `pending` that are not heard of announced themselves last, by id; absent if there is none. */
  readonly lastSeen?: Readonly<Record<string, Timestamp>>;
  /**
   * Seconds of silence after which a process is not heard of, and nothing waits for it. Grows with the size of a fleet on Redis.
   * @default 3.5
   */
  readonly goneAfterSeconds?: number;
}

/** How many processes have a category, of those that say which they have. */
export interface CategoryInstances {
  /** Number of processes that have it. */
  readonly having: number;
  /** Number of processes, including the responding one. */
  readonly of: number;
}

/** A signed document of controls, for processes that follow one (`pull`). */
export interface SignedControls {
  /** Its id, in the trail of the service that signed it and of the processes that follow it. */
  readonly id: string;
  /** The document: a JSON Web Signature in compact form. */
  readonly value: string;
  /** When what it switches on ends. */
  readonly expiresAt: Timestamp;
}

/** The effect of a control request. */
export interface ControlResponse extends RdcpAnswer {
  /** The action of the request. */
  readonly action: ControlAction;
  /** Names of the categories that it was done to, `*` resolved. */
  readonly categories: readonly string[];
  /** `partial` if it is in force here, but not in every process or not in the store. */
  readonly status: 'success' | 'partial' | 'failed';
  /** The result, in one sentence. */
  readonly message: string;
  /** One for each category. */
  readonly changes: readonly ChangeRecord[];
  /** With a shared store; absent while the store is unreachable. */
  readonly otelrdcp_fleet?: FleetSummary;
  /** The activation that an `enable` with a target or a filter made; `changes` is empty then. */
  readonly otelrdcp_activation?: DiscoveredActivation;
  /** Ids of the processes that a number or a share of them has chosen, 100 at most. Others take their place when they end. */
  readonly otelrdcp_chosen?: readonly string[];
  /** The ticket of an `enable` for one request. It is not kept: the answer to a retry with the same request id has none. */
  readonly otelrdcp_request?: RequestTicket;
  /** The document that an `enable` with `otelrdcp_sign` made, and all that it made: `changes` is empty. */
  readonly otelrdcp_document?: SignedControls;
  /** In the response to a dry run: `changes` says what would change. */
  readonly otelrdcp_dryRun?: true;
  /**
   * Present where the tenant that an operator named may be misspelt: it is not configured, has no settings, and the
   * application has not worked for it in the responding process. The change was made all the same.
   */
  readonly otelrdcp_tenantKnown?: false;
  /**
   * Present for a change if the store is not shared: the change reached the responding process alone, and other processes of
   * the service, if there are any, keep their state. Absent where this is certain: then the status is `partial`,
   * and `message` says why.
   */
  readonly otelrdcp_shared?: false;
}

/** Which categories are on. */
export interface StatusResponse extends RdcpAnswer, FleetCalls, WithReach {
  /** False while the whole instrumentation is switched off: then no category is on. */
  readonly enabled: boolean;
  /** Whether each registered category is on, by name. */
  readonly categories: Readonly<Record<string, boolean>>;
  /** The least urgent level that comes out, of those that are on with one. */
  readonly otelrdcp_levels?: Readonly<Record<string, Level>>;
  /** Calls of all categories. */
  readonly performance: CallTotals;
  /** With a shared store: which processes have applied its newest revision. */
  readonly otelrdcp_fleet?: FleetSummary;
  /** The categories that are recorded. */
  readonly otelrdcp_recorded?: Readonly<Record<string, true>>;
  /** As in discovery, by category. */
  readonly otelrdcp_settings?: Readonly<Record<string, TenantSettings>>;
  /** As in discovery, by category. */
  readonly otelrdcp_activations?: Readonly<Record<string, readonly DiscoveredActivation[]>>;
}

/** One process that shares the store. */
export interface FleetMember {
  /** Id of the process. */
  readonly id: string;
  /** Name of its host. */
  readonly host: string;
  /** Its process id on that host. */
  readonly pid: number;
  /** Name of its service (`service.name`). */
  readonly service: string;
  /** Version of its service (`service.version`), if known. */
  readonly version?: string;
  /** `service.instance.id` of its OpenTelemetry resource, if it has one. Processes may share it. */
  readonly serviceInstanceId?: string;
  /** When it started. */
  readonly startedAt: Timestamp;
  /** Revision that the process has applied; absent if it has applied none of the store's current history. */
  readonly applied?: number;
  /** Whether the process has not applied the newest revision. */
  readonly pending: boolean;
  /** When it last announced itself in the store. */
  readonly lastSeenAt: Timestamp;
  /** Its categories that not all processes have, 100 at most; absent if it does not say which it has. */
  readonly categories?: readonly string[];
}

/** Response of the fleet endpoint, an extension of this implementation. */
export interface FleetResponse extends RdcpAnswer {
  /** The store's newest revision. */
  readonly revision: number;
  /** Sorted by host, then process id. */
  readonly instances: readonly FleetMember[];
  /** Processes that are not heard of, did not shut down, and may still run; absent if there is none. */
  readonly lost?: readonly FleetMember[];
}

/** The newest attempt to send a notification. */
export interface Delivery {
  /** `webhook-id`: the id of the audit entry, or one of its own. */
  readonly id: string;
  /** `change`, `expiry`, `refusal`, `budget`, `loss`, `credentials`, `failure.recorded`; `dropped` for one that says how many were dropped. */
  readonly event: string;
  /** When it was tried last. */
  readonly timestamp: Timestamp;
  /** Whether the receiver took it. */
  readonly outcome: 'delivered' | 'failed';
  /** Attempts so far. */
  readonly attempts: number;
  /** Status of the receiver's answer, if it answered. */
  readonly status?: number;
  /** Why it failed. */
  readonly problem?: string;
}

/** A receiver of notifications, as the answering process knows it. */
export interface NotificationReceiver {
  /** Its host and port. */
  readonly receiver: string;
  /** `gone`: it answered 410, and gets nothing until the next start. */
  readonly status: 'ok' | 'failing' | 'gone';
  /** Events that wait. */
  readonly waiting: number;
  /** Events dropped since everything that waited was last delivered. */
  readonly dropped: number;
  /** Why the last attempt failed. */
  readonly problem?: string;
  /** When the next attempt follows. */
  readonly nextAttemptAt?: Timestamp;
  /** Newest first. */
  readonly deliveries: readonly Delivery[];
}

/** Response of the notifications endpoint, an extension of this implementation. */
export interface NotificationsResponse extends RdcpAnswer {
  /** In the order of the configuration. */
  readonly receivers: readonly NotificationReceiver[];
}

/** The result of one health check. */
export interface HealthCheckRecord {
  /** Name of the check: `store`, `audit`, or one of the application. */
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
  /** Unit of the value. */
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
export interface MetricsResponse extends RdcpAnswer, FleetCalls {
  /** Measurements of the process, by name. */
  readonly metrics: Readonly<Partial<Record<ProcessMetricName, MetricValue>>>;
  /** Measurements of each category, by name. */
  readonly categories: Readonly<
    Record<
      string,
      {
        /** Since the process started. Absent if it is off and was not called while it was on. */
        readonly callsTotal?: MetricValue;
        /** Over the last 60 seconds. Absent while it is off: its calls are not counted. */
        readonly callsPerSecond?: MetricValue;
      }
    >
  >;
}

/** A tenant and the categories that are on for it. */
export interface TenantSummary extends TenantContext {
  /** Its configured name, if it has one. */
  readonly name?: string;
  /** Whether each category is on for it, by name. */
  readonly categories: Readonly<Record<string, boolean>>;
  /** Categories that are on for everybody and off by a setting of this tenant; absent if there is none. */
  readonly otelrdcp_off?: readonly string[];
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
  /** Tenants that a credential without a tenant may name, where it may name no others: ids, and prefixes with `*`. */
  readonly otelrdcp_tenants?: readonly string[];
  /** Scopes of the credential. */
  readonly scopes: readonly string[];
  /** What the credential may do with which categories, if it is limited to some. */
  readonly otelrdcp_allow?: Allow;
  /** Present if a change beyond `otelrdcp_allow` waits for the approval of another identity with the scope `admin`. */
  readonly otelrdcp_approval?: true;
  /** Session of a token. */
  readonly sessionId?: string;
  /** When the credential ends; absent if it does not. */
  readonly expiresAt?: Timestamp;
  /** Present if the endpoint serves the console. */
  readonly otelrdcp_console?: ConsoleSettings;
}

/** A change that goes beyond what its credential allows, and waits for another identity. */
export interface WaitingChange {
  /** Approves it, in `POST /rdcp/v1/approve`. */
  readonly id: string;
  /** Kind of the change. */
  readonly action: ControlAction;
  /** Names of its categories; absent for all. */
  readonly categories?: readonly string[] | undefined;
  /** As in the request, with durations in seconds. */
  readonly options?: Readonly<Record<string, unknown>> | undefined;
  /** The tenant that it is for; absent if it is for everybody. */
  readonly tenant?: string;
  /** Who asked for it. */
  readonly by: Pick<DiscoveredControl, 'userId' | 'clientId'>;
  /** Why it waits. */
  readonly problem: string;
  /** Since when. */
  readonly since: Timestamp;
  /** How long. */
  readonly expiresAt: Timestamp;
}

/** Changes that wait for an approval. */
export interface ApprovalsResponse extends RdcpAnswer {
  /** The newest first. */
  readonly waiting: readonly WaitingChange[];
}

/** Settings of the console. */
export interface ConsoleSettings {
  /** Name of the service of the responding process. Absent for tenants. */
  readonly service?: string;
  /** Template of a trace's address, with `{traceId}` and perhaps `{spanId}`. */
  readonly traceUrl?: string;
  /** Longest temporary control, and longest tail. */
  readonly maxDurationSeconds: number;
  /** Where this credential may tail. */
  readonly tail?: {
    /** Lines a second, unless it asks for another rate. */
    readonly rate: number;
    /** How far back it can begin, in seconds: the option `recorder.keepSeconds`. */
    readonly keepSeconds: number;
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
export interface ErrorResponse extends Omit<RdcpAnswer, 'timestamp'> {
  /** The error. */
  readonly error: {
    /** A stable code, such as `RDCP_CATEGORY_NOT_FOUND`. */
    readonly code: string;
    /** The problem, and the allowed values, in a sentence. */
    readonly message: string;
    /** Kind of the credential, where authentication failed. */
    readonly method?: string;
    /** Machine-readable facts: `field`, `unknown`, `maximum`, … */
    readonly details?: Readonly<Record<string, unknown>>;
    /** Name and version of the protocol. */
    readonly protocol: typeof PROTOCOL;
  };
}
