import type { MessageLogger } from '../otel/report/reporter.ts';
import type { StateStore } from '../store/state-store.ts';
import type { IsolationLevel } from '../wire/constants.ts';
import type { DebugRecord } from '../wire/debug-record.ts';
import type { AdoptOptions } from './adopt.ts';
import type { AlertOptions } from './alerts.ts';
import type { SecurityOptions } from './security.ts';

// The documented types of all options. The schema in config.ts is held to them by the compiler.

export type * from './adopt.ts';
export type * from './alerts.ts';
export type * from './security.ts';

/**
 * The configuration of the remote control. Every field is optional. An unknown field or a wrong value throws
 * `RDCP_CONFIG_INVALID`, with one line that names the field, what is wrong and what is allowed.
 */
export interface RdcpConfig {
  /** Where the endpoint listens. `false` opens no port: mount `callback()` in your own server. @default loopback, port 9465 */
  readonly server?: false | ServerOptions | undefined;
  /** Settings of categories by name, such as `DATABASE`, over what the code registers. They exist from the start. @default {} */
  readonly categories?: Readonly<Record<string, CategorySettings>> | undefined;
  /** Credentials that the endpoint accepts. @default a development key, for loopback alone */
  readonly security?: SecurityOptions | undefined;
  /** Debug settings for each tenant. @default false */
  readonly tenancy?: false | TenancyOptions | undefined;
  /** Limits of temporary controls. @default {} */
  readonly controls?: ControlsOptions | undefined;
  /** Limits of requests, connections, categories and memory. @default {} */
  readonly limits?: LimitsOptions | undefined;
  /** How the audit trail is kept. @default {} */
  readonly audit?: AuditOptions | undefined;
  /** How processes that share a store work together. @default {} */
  readonly fleet?: FleetOptions | undefined;
  /** Live reading of debug lines through the endpoint. `false`: no process of the fleet gets lines of this one. @default {} */
  readonly tail?: false | TailOptions | undefined;
  /** What is recorded in memory, and how much. Beyond a limit the oldest calls are dropped, and counted. @default {} */
  readonly recorder?: RecorderOptions | undefined;
  /**
   * Whether the endpoint serves the console, a page for operators, at `/rdcp/console/`.
   * @default true where `server.host` is loopback, else false
   */
  readonly console?: boolean | ConsoleOptions | undefined;
  /**
   * A signed document of controls that the process follows, for jobs and functions that cannot be called. The issuers of
   * `security.tickets` verify it.
   * @default none
   */
  readonly pull?: PullOptions | undefined;
  /**
   * Where state and audit trail are kept: `memory:`, `sqlite:FILE`, `redis://…`, `rediss://…`, `postgres://…`, or a store of your own.
   * @default 'memory:'
   */
  readonly store?: string | StateStore | undefined;
  /**
   * Checks of your application for the health endpoint, by name. One that throws, rejects or takes more than 5 seconds makes the
   * service `unhealthy`.
   * @default {}
   */
  readonly health?: Readonly<Record<string, () => unknown>> | undefined;
  /** How debug calls are measured. @default {} */
  readonly metrics?: MetricsOptions | undefined;
  /** Notifications of changes, expiries and refusals. @default {} */
  readonly notify?: NotifyOptions | undefined;
  /**
   * What alerts switch on, at most 100: those of Alertmanager or Grafana (`match`), which send webhooks to `/rdcp/v1/alerts`, or what
   * this process measures (`when`).
   * @default []
   */
  readonly alerts?: readonly AlertOptions[] | undefined;
  /** Whether changes, their ends, and the address of `RdcpInstrumentation` are logged, one line each. @default true */
  readonly announce?: boolean | undefined;
  /** Where debug calls go. @default {} */
  readonly emit?: EmitOptions | undefined;
  /**
   * Which debug statements of other libraries become categories. `true`: all that are known.
   * @default false, and true under `register`
   */
  readonly adopt?: boolean | AdoptOptions | undefined;
  /** Where the package's own messages go: `info`, `warn` and `error`, as of `console` or pino. @default one line each on stderr */
  readonly logger?: MessageLogger | undefined;
}

/** Settings of one category. */
export interface CategorySettings {
  /** One line for the operator, at most 1000 characters. @default what the code registered */
  readonly description?: string | undefined;
  /** Whether the category is on before an operator switches it. @default what the code registered, or false */
  readonly enabled?: boolean | undefined;
}

/** Limits of temporary controls. A duration is a number of seconds, or `<n>s`, `<n>m`, `<n>h` or `<n>d`. */
export interface ControlsOptions {
  /** Duration of a temporary control that asks for none; at most `maxDuration`. @default '15m' */
  readonly defaultDuration?: number | string | undefined;
  /** Longest duration of a temporary control, at most `3650d`. A longer one is refused. @default '24h' */
  readonly maxDuration?: number | string | undefined;
  /**
   * Most temporary controls at once, for each tenant and for all tenants together, and as many of alerts. A further one is refused.
   * @default 100
   */
  readonly maxTemporaryPerTenant?: number | undefined;
  /**
   * How much a category that is on may emit. `false`: as much as it likes.
   * @default each category 500 calls a second, all together 2000 calls and 1 MiB
   */
  readonly budget?: BudgetOptions | false | undefined;
}

/** Limits of requests, connections, categories and memory. A request over a limit is answered with 429. */
export interface LimitsOptions {
  /** Control requests of one identity in 60 seconds. Resets and changes that switch off pass beyond it, up to 600. @default 60 */
  readonly controlPerMinute?: number | undefined;
  /** Other requests of one identity in 60 seconds. @default 600 */
  readonly readPerMinute?: number | undefined;
  /** Health requests without a credential from one address in 60 seconds. They count towards no other limit. @default 600 */
  readonly healthPerMinute?: number | undefined;
  /** Other requests without a valid credential from one address in 60 seconds. @default 60 */
  readonly anonymousPerMinute?: number | undefined;
  /** Seconds after which a request that is still being worked on is answered with 504. @default 30 */
  readonly requestTimeoutSeconds?: number | undefined;
  /** Most categories that can be registered, at most 4096. @default 4096 */
  readonly maxCategories?: number | undefined;
  /** Most open connections to the listener, and most streams of HTTP/2. Beyond that new ones are refused. @default 512 */
  readonly maxConnections?: number | undefined;
  /**
   * Most of them from one address, or one IPv6 network of 64 bits, except `server.trustedProxies`. HTTP/2 has at least 100 streams.
   * @default 64
   */
  readonly maxConnectionsPerAddress?: number | undefined;
}

/** How the audit trail is kept. */
export interface AuditOptions {
  /** Days that an audit entry is kept, at most 36500. @default 90 */
  readonly retentionDays?: number | undefined;
  /**
   * File of a private key (Ed25519, PKCS #8, PEM; mode 0600 or 0400) that signs the audit trail, so that write access to the store is
   * not enough to forge entries. Read at the start.
   * @default none
   */
  readonly signingKeyFile?: string | undefined;
}

/** How processes that share a store work together. */
export interface FleetOptions {
  /**
   * Seconds that the answer to a change waits for all processes to apply it, 0 to 25. The answer is `partial` and names those that have
   * not; they apply it as soon as they can.
   * @default 1
   */
  readonly acknowledgeTimeoutSeconds?: number | undefined;
}

/** Live reading of debug lines through the endpoint. */
export interface TailOptions {
  /** Scope that a credential needs: `admin` or `control`. @default 'admin' */
  readonly scope?: 'admin' | 'control' | undefined;
  /**
   * Lines a second of one stream, from all processes together, 1 to 10000. Further ones are dropped and counted. `admin` may ask for
   * more.
   * @default 100
   */
  readonly rate?: number | undefined;
}

/** What is recorded from the start, and how much: of work that goes on, and of work that has ended. */
export interface RecorderOptions {
  /**
   * Categories that are recorded from the start: names, patterns such as `DB_*`, or `*`. Their calls are kept in memory, and not written
   * while they are off. A `disable` for everybody ends it until a `reset`.
   * @default []
   */
  readonly categories?: readonly string[] | undefined;
  /** Seconds that work is kept after its end, at most 3600. `0`: it is forgotten at once. @default 60 */
  readonly keepSeconds?: number | undefined;
  /** Bytes of memory for work that has ended, from 65536 to 1073741824. @default 33554432 (32 MiB) */
  readonly keepBytes?: number | undefined;
  /** Calls of one piece of work, from 1 to 10000. @default 200 */
  readonly callsPerWork?: number | undefined;
  /** Bytes of messages and attributes of one piece of work, from 1024 to 16777216. @default 65536 (64 KiB) */
  readonly bytesPerWork?: number | undefined;
  /** Bytes of all pieces of work, with 300 for each call, from 65536 to 1073741824. @default 16777216 (16 MiB) */
  readonly bytes?: number | undefined;
  /** Pieces of work that are recorded at a time, from 1 to 1000000. @default 10000 */
  readonly works?: number | undefined;
  /** Seconds that a call is kept while its work goes on, from 1 to 3600. @default 60 */
  readonly seconds?: number | undefined;
  /** Whether `.enabled`, `isLevelEnabled` and `debug.enabled` are true while a category is only recorded. @default true */
  readonly guards?: boolean | undefined;
}

/** The console, a page for operators. */
export interface ConsoleOptions {
  /**
   * Address of a trace in your tracing backend: an http or https URL with `{traceId}` in it, and perhaps `{spanId}`. Trace ids become
   * links to it.
   * @default none: trace ids are text
   */
  readonly traceUrl?: string | undefined;
}

/** A signed document of controls that the process follows, in a file or at an address. */
export interface PullOptions {
  /** File that holds the document, such as one of a mounted ConfigMap. A missing file is no document. @default none */
  readonly file?: string | undefined;
  /** Address of the document: an https URL, or http on loopback. An answer 404 is no document. @default none */
  readonly url?: string | undefined;
  /** Time between two reads, from `1s` to `1h`. The first one is at the start. @default '30s' */
  readonly every?: number | string | undefined;
}

/** How debug calls are measured. */
export interface MetricsOptions {
  /** Seconds over which call rates are measured, at most 3600. @default 60 */
  readonly rateWindowSeconds?: number | undefined;
  /** Whether call metrics have a series for each tenant and category, by the attribute `rdcp.tenant.id`. @default false */
  readonly tenantAttribute?: boolean | undefined;
}

/** Where debug calls go. */
export interface EmitOptions {
  /**
   * `otel` (OpenTelemetry log records), `stderr` (readable lines), `both`, `json` (one JSON object a line on stderr), or a function that
   * gets each call as a record.
   * @default 'otel' where a logger provider is registered, else 'stderr'
   */
  readonly to?: 'otel' | 'stderr' | 'both' | 'json' | ((record: DebugRecord) => unknown) | undefined;
  /**
   * Further names of attributes whose values become `[redacted]` in every output, at any depth, beside the usual ones
   * (docs/debug-lines.md, Redaction). `*` stands for any characters, case does not count. `false` redacts nothing.
   * @default []
   */
  readonly redact?: readonly string[] | false | undefined;
}

/** Where the endpoint listens, and which requests it serves. */
export interface ServerOptions {
  /** Address to listen on. Beyond loopback it needs `tls` or `behindTlsProxy`, and a credential. @default '127.0.0.1' */
  readonly host?: string | undefined;
  /** TCP port, 0 to 65535. With 0 the system chooses one; `listen()` returns the address. @default 9465 */
  readonly port?: number | undefined;
  /** Serve HTTPS: TLS 1.3, with HTTP/2 and HTTP/1.1. @default none: plain HTTP */
  readonly tls?: TlsOptions | undefined;
  /**
   * Further host names, without port, that requests may have in `Host`, also for `/metrics` under `register`. Loopback names, `host`
   * and the IP address that the client connected to are always accepted.
   * @default []
   */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Whether a proxy ends TLS before this process, so that plain HTTP is accepted on any address. @default false */
  readonly behindTlsProxy?: boolean | undefined;
  /**
   * Proxies whose `X-Forwarded-For` or `Forwarded` gives the client's address, for rate limits and the audit trail: IP addresses,
   * networks such as `10.0.0.0/8`, and `unix` for Unix sockets.
   * @default []: the headers are ignored
   */
  readonly trustedProxies?: readonly string[] | undefined;
}

/** PEM files of the HTTPS listener. They are read again when they change. A file that cannot be used fails the start. */
export interface TlsOptions {
  /** The server's certificate, followed by its chain. With `NODE_ENV=production` it must not be self-signed. */
  readonly certFile: string;
  /** The certificate's private key, without a passphrase. */
  readonly keyFile: string;
  /** Authorities whose client certificates are accepted; each connection then needs one. @default none: not asked for */
  readonly clientCaFile?: string | undefined;
  /** Revocation lists, one of each authority in `clientCaFile`. @default none: no client certificate is revoked */
  readonly crlFile?: string | undefined;
}

/** Debug settings for each tenant. */
export interface TenancyOptions {
  /**
   * How far tenants are kept apart: `global` (one setting for all), `process` (settings of each tenant, in this process alone),
   * `namespace` (shared within a namespace) or `organization` (shared by all processes; measurements are kept apart as well).
   */
  readonly isolation: IsolationLevel;
  /** Name of the namespace that shares settings; required at isolation `namespace` alone. @default none */
  readonly namespace?: string | undefined;
  /** Tenants to list before anything was switched for them, by their id. Others are served as well. @default {} */
  readonly tenants?: Readonly<Record<string, TenantOptions>> | undefined;
  /**
   * OpenTelemetry baggage entry that names the tenant where `runWithTenant` does not. A client that may send baggage then
   * chooses the tenant.
   * @default none: baggage is not read
   */
  readonly baggageKey?: string | undefined;
}

/** A tenant that is listed from the start. */
export interface TenantOptions {
  /** Name to show, 1 to 200 characters. @default none */
  readonly name?: string | undefined;
}

/** How many calls a category that is on may emit. Calls beyond are dropped before anything of them is built, and counted. */
export interface RateBudgetOptions {
  /** Calls a second, from 1 to 1000000. @default 500 */
  readonly callsPerSecond?: number | undefined;
  /** Calls at once after a quiet time, from 1 to 1000000. @default twice `callsPerSecond` */
  readonly burst?: number | undefined;
  /** Bytes a second of messages and attributes, from 1024 to 1073741824. @default no limit for a single category */
  readonly bytesPerSecond?: number | undefined;
}

/** How much all categories of a process may emit together. */
export interface ProcessBudgetOptions {
  /** Calls a second, from 1 to 1000000. @default 2000 */
  readonly callsPerSecond?: number | undefined;
  /** Bytes a second of messages and attributes, from 1024 to 1073741824. @default 1048576 (1 MiB) */
  readonly bytesPerSecond?: number | undefined;
}

/** The budgets of categories: of each of them, of single ones by name, and of all together. */
export interface BudgetOptions extends RateBudgetOptions {
  /** Budgets of single categories by name, over those of all; `false`: no limit, not even the process's. @default {} */
  readonly categories?: Readonly<Record<string, RateBudgetOptions | false>> | undefined;
  /** The budget of all categories together; `false` for none. @default a budget of 2,000 calls and 1 MiB a second */
  readonly process?: ProcessBudgetOptions | false | undefined;
}

/** Kind of a notification. */
export type NotifyEvent = 'change' | 'expiry' | 'refusal' | 'budget' | 'loss' | 'credentials' | 'failure.recorded';

/** Receivers of notifications about entries of the audit trail, and about failures whose lines were recorded. */
export interface NotifyOptions {
  /** One or more webhooks. Each event is sent once, by the process that recorded it. @default none */
  readonly webhook?: WebhookOptions | readonly WebhookOptions[] | undefined;
}

/** A receiver of signed POST requests (Standard Webhooks), or a chat with an incoming webhook. */
export interface WebhookOptions {
  /** Where events are sent: an https URL, or http on loopback. Redirects are not followed. Messages show its host alone. */
  readonly url: string;
  /**
   * Key of the signature: `whsec_` and the base64 of 24 to 64 random bytes; several all sign. Required unless `format` is `slack`.
   * @default none
   */
  readonly secret?: string | readonly string[] | undefined;
  /**
   * Which events are sent: `change`, `expiry` (a temporary control ended), `refusal` (a request was denied), `budget` (a
   * control used up its total), `loss` (the store lost changes), `credentials` (a source failed or recovered),
   * `failure.recorded` (lines of failed work were written, at most once a minute for a category).
   * @default all of them
   */
  readonly events?: readonly NotifyEvent[] | undefined;
  /** `standard` (JSON with `type`, `timestamp` and `data`), or `slack` (a line of text for a chat). @default 'standard' */
  readonly format?: 'standard' | 'slack' | undefined;
}
