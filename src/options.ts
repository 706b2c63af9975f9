import type { DebugRecord } from './emit/record.ts';
import type { AdoptOptions } from './options/adopt.ts';
import type { BudgetOptions } from './options/budget.ts';
import type { ConsoleOptions } from './options/console.ts';
import type { NotifyOptions } from './options/notify.ts';
import type { SecurityOptions } from './options/security.ts';
import type { ServerOptions } from './options/server.ts';
import type { TenancyOptions } from './options/tenancy.ts';
import type { MessageLogger } from './reporter.ts';
import type { StateStore } from './store/state-store.ts';

// The documented types of all options. The schema in config.ts is held to them by the compiler.

export type * from './options/adopt.ts';
export type * from './options/budget.ts';
export type * from './options/console.ts';
export type * from './options/notify.ts';
export type * from './options/security.ts';
export type * from './options/server.ts';
export type * from './options/tenancy.ts';

/**
 * The configuration of the remote control. Every field is optional. An unknown field or a wrong value throws
 * `RDCP_CONFIG_INVALID`, with one line that names the field, what is wrong and what is allowed.
 */
export interface RdcpConfig {
  /**
   * Where the endpoint listens. `false` opens no port: mount `callback()` in a server of your own.
   * @default loopback, port 9465
   */
  readonly server?: false | ServerOptions | undefined;
  /**
   * Settings of categories by their name, such as `DATABASE`. They take precedence over what the code registered, and a
   * category that no code registered exists from the start.
   * @default {}
   */
  readonly categories?: Readonly<Record<string, CategorySettings>> | undefined;
  /**
   * Who may use the endpoint.
   * @default a development key, for loopback alone
   */
  readonly security?: SecurityOptions | undefined;
  /**
   * Debug settings for each tenant.
   * @default false
   */
  readonly tenancy?: false | TenancyOptions | undefined;
  /**
   * What temporary controls may ask for.
   * @default {}
   */
  readonly controls?: ControlsOptions | undefined;
  /**
   * Limits of requests, connections, categories and memory.
   * @default {}
   */
  readonly limits?: LimitsOptions | undefined;
  /**
   * How the audit trail is kept.
   * @default {}
   */
  readonly audit?: AuditOptions | undefined;
  /**
   * How processes that share a store work together.
   * @default {}
   */
  readonly fleet?: FleetOptions | undefined;
  /**
   * Who may read debug lines through the endpoint as they are written, and how many. `false`: nobody, and no other process of the
   * fleet gets lines of this one.
   * @default {}
   */
  readonly tail?: false | TailOptions | undefined;
  /**
   * Whether the endpoint serves the console, a page for operators, at `/rdcp/console/`. The page holds no data: it asks the endpoint
   * with the credential of whoever opens it.
   * @default true where `server.host` is loopback, else false
   */
  readonly console?: boolean | ConsoleOptions | undefined;
  /**
   * Where state and the audit trail are kept: `memory:`, `sqlite:FILE`, `redis://…`, `rediss://…`, or a store of your own.
   * @default 'memory:'
   */
  readonly store?: string | StateStore | undefined;
  /**
   * Checks of your application for the health endpoint, by their name. A check fails when it throws, rejects or takes
   * longer than 5 seconds; the service is then `unhealthy`.
   * @default {}
   */
  readonly health?: Readonly<Record<string, () => unknown>> | undefined;
  /**
   * How debug calls are measured.
   * @default {}
   */
  readonly metrics?: MetricsOptions | undefined;
  /**
   * Who is notified of changes, expiries and refusals.
   * @default {}
   */
  readonly notify?: NotifyOptions | undefined;
  /**
   * Whether one line is logged for each change, such as `rdcp: DATABASE on for 5m by alice: slow checkout`, for its end, and
   * for the address that `RdcpInstrumentation` listens on.
   * @default true
   */
  readonly announce?: boolean | undefined;
  /**
   * Where debug calls go.
   * @default {}
   */
  readonly emit?: EmitOptions | undefined;
  /**
   * Which debug statements of other libraries become categories, beside those of this package. `true`: all that are known,
   * `false`: none.
   * @default false, and true under `register`
   */
  readonly adopt?: boolean | AdoptOptions | undefined;
  /**
   * Where the package's own messages go: an object with the functions `info`, `warn` and `error`, such as `console` or a
   * pino logger.
   * @default one line each on stderr
   */
  readonly logger?: MessageLogger | undefined;
}

/** Settings of one category. */
export interface CategorySettings {
  /**
   * One line for the operator, at most 1000 characters.
   * @default what the code registered
   */
  readonly description?: string | undefined;
  /**
   * Whether the category is on before an operator switches it.
   * @default what the code registered, or false
   */
  readonly enabled?: boolean | undefined;
}

/** What temporary controls may ask for. A duration is a number of seconds, or `<n>s`, `<n>m`, `<n>h` or `<n>d`. */
export interface ControlsOptions {
  /**
   * Duration of a temporary control that asks for none. Must not be longer than `maxDuration`.
   * @default '15m'
   */
  readonly defaultDuration?: number | string | undefined;
  /**
   * Longest duration of a temporary control, at most `3650d`. A request for a longer one is refused.
   * @default '24h'
   */
  readonly maxDuration?: number | string | undefined;
  /**
   * Most temporary controls that may be active at once, for each tenant and for all tenants together. A further one is
   * refused.
   * @default 100
   */
  readonly maxTemporaryPerTenant?: number | undefined;
  /**
   * How much a category that is on may emit, so that it cannot harm the service. `false`: as much as it likes.
   * @default each category 500 calls a second, all together 2000 calls and 1 MiB
   */
  readonly budget?: BudgetOptions | false | undefined;
}

/** Limits of requests, connections, categories and memory. A request over a limit is answered with 429. */
export interface LimitsOptions {
  /**
   * Control requests of one identity in any 60 seconds.
   * @default 60
   */
  readonly controlPerMinute?: number | undefined;
  /**
   * Other requests of one identity in any 60 seconds.
   * @default 600
   */
  readonly readPerMinute?: number | undefined;
  /**
   * Health requests without a credential from one address in any 60 seconds. They count towards no other limit.
   * @default 600
   */
  readonly healthPerMinute?: number | undefined;
  /**
   * Other requests without a valid credential from one address in any 60 seconds.
   * @default 60
   */
  readonly anonymousPerMinute?: number | undefined;
  /**
   * Seconds after which a request that is still being worked on is answered with 504.
   * @default 30
   */
  readonly requestTimeoutSeconds?: number | undefined;
  /**
   * Most categories that can be registered, at most 4096.
   * @default 4096
   */
  readonly maxCategories?: number | undefined;
  /**
   * Bytes that the store `memory:` keeps of audit entries and of answers to repeated requests, at least 1048576 (1 MiB).
   * Beyond that the oldest are dropped.
   * @default 67108864 (64 MiB)
   */
  readonly memoryStoreBytes?: number | undefined;
  /**
   * Most connections to the listener that are open at a time, and most streams of HTTP/2. Beyond that a new one takes the place
   * of the one that has been idle longest, and is refused while all are busy.
   * @default 512
   */
  readonly maxConnections?: number | undefined;
  /**
   * Most of them from one address, or from one IPv6 network of 64 bits. Those of `server.trustedProxies` do not count. Streams of
   * HTTP/2 are limited alike, but never to fewer than 100.
   * @default 64
   */
  readonly maxConnectionsPerAddress?: number | undefined;
}

/** How the audit trail is kept. */
export interface AuditOptions {
  /**
   * Days that an audit entry is kept, at most 36500.
   * @default 90
   */
  readonly retentionDays?: number | undefined;
  /**
   * Bytes that entries about refused requests may take in a day, of each process, at least 1 MiB: half for known identities, half
   * for requests without a valid credential, and a 24th of it in an hour. Beyond that, the refusals of a minute are one
   * entry of each half, with their number.
   * @default 16777216 (16 MiB)
   */
  readonly refusalBytesPerDay?: number | undefined;
  /**
   * File of a private key (Ed25519, PKCS #8, PEM; mode 0600 or 0400) that signs the audit trail. Write access to the
   * store is then not enough to forge entries. It is read at the start.
   * @default none
   */
  readonly signingKeyFile?: string | undefined;
}

/** How processes that share a store work together. */
export interface FleetOptions {
  /**
   * Seconds that the answer to a change waits for all processes to apply it, 0 to 25. Processes that have not applied it by
   * then are named in the answer, whose status is `partial`; they apply the change as soon as they can.
   * @default 1
   */
  readonly acknowledgeTimeoutSeconds?: number | undefined;
  /**
   * Name of the service in the list of processes.
   * @default OTEL_SERVICE_NAME, or service.name of OTEL_RESOURCE_ATTRIBUTES
   */
  readonly service?: string | undefined;
  /**
   * Version of the service in the list of processes.
   * @default service.version of OTEL_RESOURCE_ATTRIBUTES
   */
  readonly version?: string | undefined;
}

/** Who may read debug lines over the endpoint while they are made, and how many. */
export interface TailOptions {
  /**
   * Scope that a credential needs: `admin` or `control`.
   * @default 'admin'
   */
  readonly scope?: 'admin' | 'control' | undefined;
  /**
   * Most streams that a process serves at a time, 1 to 64. One identity may have two of them.
   * @default 8
   */
  readonly maxStreams?: number | undefined;
  /**
   * Lines a second of one stream, from all processes together, 1 to 10000. Further ones are dropped and counted. A request may
   * ask for fewer, and with `admin` for more.
   * @default 100
   */
  readonly rate?: number | undefined;
}

/** How debug calls are measured. */
export interface MetricsOptions {
  /**
   * Seconds over which call rates are measured, at most 3600.
   * @default 60
   */
  readonly rateWindowSeconds?: number | undefined;
  /**
   * Whether the call metrics have a series for each tenant and category, with the attribute `rdcp.tenant.id`.
   * @default false
   */
  readonly tenantAttribute?: boolean | undefined;
}

/** Where debug calls go. */
export interface EmitOptions {
  /**
   * Where debug calls go: `otel` (OpenTelemetry log records), `stderr` (readable lines), `both`, `json` (one JSON object a
   * line on stderr), or a function that gets each call as a record.
   * @default 'otel' where an export of log records is configured, 'both' with a NodeSDK where none is, else 'stderr'
   */
  readonly to?: 'otel' | 'stderr' | 'both' | 'json' | ((record: DebugRecord) => unknown) | undefined;
  /**
   * Names of attributes whose values become `[redacted]` before any output gets them, at any depth; `*` stands for any
   * characters, and case does not count. They are added to the names that end in `password`, `passwd`, `passphrase`,
   * `secret`, `token`, `authorization`, `cookie`, `apikey` or `privatekey`, and in the plural of `password`, `secret`, `cookie` and
   * `apikey`, in which `-`, `_` and `.` do not count. `false` redacts nothing.
   * @default []
   */
  readonly redact?: readonly string[] | false | undefined;
}
