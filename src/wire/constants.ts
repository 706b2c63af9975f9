import type { JsonBounds } from './json-text.ts';

/** The `protocol` field of every body and the `X-RDCP-Protocol` header (RDCP 1.0, Versioning). */
export const PROTOCOL = 'rdcp/1.0';

/** The registered media type (RDCP 1.0, Versioning). */
export const RDCP_MEDIA_TYPE = 'application/vnd.rdcp.v1+json';

export const JSON_MEDIA_TYPE = 'application/json';

/** Server-sent events (HTML, section 9.2). */
export const EVENT_STREAM_MEDIA_TYPE = 'text/event-stream';

/** Every path of the protocol, relative to the base URL. */
export const PATHS = {
  wellKnown: '/.well-known/rdcp',
  discovery: '/rdcp/v1/discovery',
  control: '/rdcp/v1/control',
  status: '/rdcp/v1/status',
  health: '/rdcp/v1/health',
  metrics: '/rdcp/v1/metrics',
  tenants: '/rdcp/v1/tenants',
  audit: '/rdcp/v1/audit',
  session: '/rdcp/v1/session',
  fleet: '/rdcp/v1/fleet',
  notifications: '/rdcp/v1/notifications',
  forecast: '/rdcp/v1/forecast',
  tail: '/rdcp/v1/tail',
  failures: '/rdcp/v1/failures',
  events: '/rdcp/v1/events',
  alerts: '/rdcp/v1/alerts',
  approvals: '/rdcp/v1/approvals',
  approve: '/rdcp/v1/approve',
  openapi: '/rdcp/v1/openapi.json',
} as const;

/** Paths of the token endpoints. Served only with `security.tokens`. */
export const TOKEN_PATHS = {
  token: '/rdcp/v1/token',
  revoke: '/rdcp/v1/token/revoke',
  /** Served only with asymmetric signing keys. */
  jwks: '/rdcp/v1/jwks',
  /** RFC 8414. Served only if the issuer is a URL. */
  metadata: '/.well-known/oauth-authorization-server',
} as const;

export const CONSOLE_PATHS = {
  folder: '/rdcp/console',
  /** The page. Its files lie beside it. */
  page: '/rdcp/console/',
  code: '/rdcp/v1/console/code',
  /** Exchanges a one-time code for the credential that it was made with. */
  session: '/rdcp/v1/console/session',
} as const;

/** How long a one-time code for the console works, in seconds. */
export const CONSOLE_CODE_SECONDS = 60;

/** Prefix of our paths. Unknown paths below it get 404; other paths fall through to the application. */
export const PATH_PREFIX = '/rdcp/';

export const HEADERS = {
  authMethod: 'X-RDCP-Auth-Method',
  apiKey: 'X-RDCP-API-Key',
  clientId: 'X-RDCP-Client-ID',
  requestId: 'X-RDCP-Request-ID',
  tenantId: 'X-RDCP-Tenant-ID',
  isolationLevel: 'X-RDCP-Isolation-Level',
  tenantName: 'X-RDCP-Tenant-Name',
  protocol: 'X-RDCP-Protocol',
  replayed: 'X-RDCP-Replayed',
} as const;

/** The header names in lower case, as in Node's `request.headers`. */
export const REQUEST_HEADERS = /* @__PURE__ */ Object.fromEntries(
  Object.entries(HEADERS).map(([key, name]) => [key, name.toLowerCase()]),
) as { readonly [K in keyof typeof HEADERS]: Lowercase<(typeof HEADERS)[K]> };

/** The scopes of RDCP 1.0. */
export const STANDARD_SCOPES = ['discovery', 'status', 'control', 'admin'] as const;

/** Every scope of a credential; `admin` includes the others. See docs/credentials.md. */
export const SCOPES = ['discovery', 'status', 'control', 'tail', 'alerts', 'admin'] as const;
/** One of {@link SCOPES}. */
export type Scope = (typeof SCOPES)[number];

/** How an entry of the audit trail may have ended. */
export const AUDIT_OUTCOMES = ['success', 'partial', 'failed', 'denied'] as const;

/** Which credentials a server asks for, from a key to a certificate with an identity. */
export const SECURITY_LEVELS = ['basic', 'standard', 'enterprise'] as const;
/** One of {@link SECURITY_LEVELS}. */
export type SecurityLevel = (typeof SECURITY_LEVELS)[number];

/** Every way to authenticate; `hybrid` is a client certificate and a token. */
export const AUTH_METHODS = ['api-key', 'bearer', 'mtls', 'hybrid'] as const;
/** One of {@link AUTH_METHODS}. */
export type AuthMethod = (typeof AUTH_METHODS)[number];

/** How far the settings of tenants are shared, from fully to not at all. See docs/tenants.md. */
export const ISOLATION_LEVELS = ['global', 'process', 'namespace', 'organization'] as const;
/** One of {@link ISOLATION_LEVELS}. */
export type IsolationLevel = (typeof ISOLATION_LEVELS)[number];

/** An entry of a credential's `tenants`: a tenant's id, or a prefix of ids with `*`. */
export const TENANT_PATTERN = /^(?:[a-zA-Z0-9._-]{1,255}|[a-zA-Z0-9._-]{0,254}\*)$/;

/** `tenant.id` in responses for the global scope. Not a tenant's id. */
export const EVERYBODY = 'global';

/** Every action of a control request. */
export const CONTROL_ACTIONS = ['enable', 'disable', 'toggle', 'reset', 'status'] as const;
/** One of {@link CONTROL_ACTIONS}. */
export type ControlAction = (typeof CONTROL_ACTIONS)[number];

/** The attribute of work that is the SHA-256 of its ticket. Values of tickets are no attributes: they could be guessed by matching. */
export const TICKET_ATTRIBUTE = 'rdcp.ticket';

/** Levels of a control, from the least urgent. */
export const LEVELS = ['silly', 'trace', 'debug', 'info', 'warn', 'error'] as const;
/**
 * The least urgent level that comes out: `silly`, `trace`, `debug`, `info`. `warn` and `error` quieten: nothing more comes out,
 * and what is less urgent does not.
 */
export type Level = (typeof LEVELS)[number];

/** Whether a level takes lines away, instead of letting them out. */
export function isQuiet(level: Level): boolean {
  return level === 'warn' || level === 'error';
}

/** What `allow` of a credential may name: the actions that switch, and the two that read lines. */
export const ALLOWED_ACTIONS = ['enable', 'disable', 'toggle', 'reset', 'tail', 'forecast'] as const;
/** One of {@link ALLOWED_ACTIONS}. */
export type AllowedAction = (typeof ALLOWED_ACTIONS)[number];

/** Actions of audit entries: controls and their later effects, refusals, changes of the trail itself, and sessions. */
export const AUDIT_ACTIONS = [
  ...CONTROL_ACTIONS,
  'expire',
  'reconcile',
  'authenticate',
  'authorize',
  'prune',
  'state_reset',
  'token.issue',
  'token.refresh',
  'token.revoke',
  'token.reuse',
  'credentials.reload',
  'forecast',
  'tail',
  'approval',
  'sign',
] as const;

/** Maximum size of a request body, in bytes. */
export const MAX_BODY_BYTES = 64 * 1024;
/** Largest JSON body: a request names at most some thousand categories. */
export const BODY_BOUNDS: JsonBounds = { bytes: MAX_BODY_BYTES, depth: 32, values: 10_000 };
/** Largest notification about alerts: a thousand with half a dozen labels each. */
export const ALERTS_BOUNDS: JsonBounds = { bytes: 1024 * 1024, depth: 32, values: 15_000 };
/** Maximum length of `options.reason`, in characters. */
export const MAX_REASON_LENGTH = 500;
/** What is only recorded may last a week, in seconds, however short other controls are. */
export const RECORDING_SECONDS: number = 7 * 86_400;
/** Largest limits of a control's budget: calls a second, and calls or bytes in all. */
export const MAX_BUDGET_RATE = 1_000_000;
export const MAX_BUDGET_TOTAL = 1_000_000_000;
/** Longest forecast, in seconds. */
export const MAX_FORECAST_SECONDS = 60;
/** Most lines of a tail, in a second and in all. */
export const MAX_TAIL_RATE = 10_000;
export const MAX_TAIL_LINES = 1_000_000_000;
/** Longest time for which finished work is kept, in seconds. */
export const MAX_PAST_SECONDS = 3600;
/** How long the answer of a process to a question about failures may take, in milliseconds. */
export const FAILURES_MS = 5000;
/** Most pieces of work that an answer lists. */
export const MAX_FAILURES = 200;
/** Maximum clock skew of a control request's `Date` header, in milliseconds. */
export const MAX_CLOCK_SKEW_MS = 5 * 60_000;
/** How long a control response is kept for retries with the same request id, in milliseconds. */
export const REPLAY_WINDOW_MS = 5 * 60_000;

/** How the user of what a rule of `alerts` makes begins. Identifiers have no colon, so no API key has such a user. */
export const ALERT_USER = 'alert:';
