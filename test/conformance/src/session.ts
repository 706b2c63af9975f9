import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { skip } from './expectation.ts';
import { type Answer, exchange, type Request, type Target } from './http.ts';
import { Pacer } from './pacing.ts';

export const PATHS = {
  wellKnown: '/.well-known/rdcp',
  discovery: '/rdcp/v1/discovery',
  control: '/rdcp/v1/control',
  status: '/rdcp/v1/status',
  health: '/rdcp/v1/health',
  metrics: '/rdcp/v1/metrics',
  tenants: '/rdcp/v1/tenants',
  audit: '/rdcp/v1/audit',
} as const;

/** Safe methods (RFC 9110, section 9.2.1). */
const READING: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

export type Method = 'api-key' | 'bearer' | 'mtls' | 'hybrid';

/** Something to authenticate with. */
export interface Credential {
  /** For messages: never the secret. */
  readonly label: string;
  readonly method: Method;
  /** The key or token; absent for a client certificate alone. */
  readonly secret?: string;
  /** False for credentials that the server is meant to refuse. */
  readonly valid: boolean;
}

export function apiKey(label: string, secret: string, valid = true): Credential {
  return { label, method: 'api-key', secret, valid };
}

export function bearer(label: string, secret: string, valid = true): Credential {
  return { label, method: 'bearer', secret, valid };
}

/** Credentials for a run. Checks that need others are skipped. */
export interface Credentials {
  /** May control and read everything; absent where the server asks for none. */
  readonly main?: Credential;
  /** A bearer token that may read and control. */
  readonly token?: Credential;
  /** Lacks the scope `control`. */
  readonly readonly?: Credential;
  /** Holds `admin`. */
  readonly admin?: Credential;
  /** Credentials of different tenants, with `control`. */
  readonly tenants: readonly Credential[];
  readonly expired?: Credential;
  /** A token for another audience, or of another issuer. */
  readonly foreign?: Credential;
}

export interface SendOptions {
  /** Who asks; by default the main credential. */
  readonly as?: Credential | 'nobody';
  /** Beside the usual headers, or instead of one of them; `undefined` leaves one out, a list sends it repeatedly. */
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as it is. */
  readonly body?: string | Buffer;
}

/** How a run measures time and lets it pass. */
export interface Timing {
  /** Milliseconds, from any moment on. */
  now(): number;
  sleep(milliseconds: number): Promise<unknown>;
}

const REAL_TIME: Timing = { now: () => performance.now(), sleep: (milliseconds) => sleep(milliseconds) };

export interface SessionOptions {
  readonly target: Target;
  readonly credentials: Credentials;
  /** The category to switch; by default one is picked from discovery. */
  readonly category?: string;
  readonly notice: (line: string) => void;
  readonly readOnly?: boolean;
  /** @default real time */
  readonly timing?: Timing;
}

/** One run of the suite against one server. */
export class Session {
  readonly target: Target;
  readonly credentials: Credentials;
  readonly category: string | undefined;
  readonly notice: (line: string) => void;
  readonly timing: Timing;
  readonly #readOnly: boolean;
  readonly #pacer: Pacer;

  constructor({ target, credentials, category, notice, readOnly = false, timing = REAL_TIME }: SessionOptions) {
    this.target = target;
    this.credentials = credentials;
    this.category = category;
    this.notice = notice;
    this.timing = timing;
    this.#readOnly = readOnly;
    this.#pacer = new Pacer(notice);
  }

  get(path: string, options: SendOptions = {}): Promise<Answer> {
    return this.send('GET', path, options);
  }

  /** A control request. It is never sent twice, except after 429. */
  control(json: unknown, options: SendOptions = {}): Promise<Answer> {
    return this.send('POST', PATHS.control, { json, ...options });
  }

  async send(method: string, path: string, options: SendOptions = {}): Promise<Answer> {
    if (this.#readOnly && !READING.has(method)) skip('it may change something, and the run only reads');
    const who = options.as ?? this.credentials.main ?? 'nobody';
    const request = this.#request(method, path, who, options);
    return this.#pacer.send(bucketOf(path, who), () => exchange(this.target, request));
  }

  #request(method: string, path: string, who: Credential | 'nobody', options: SendOptions): Request {
    const body = options.json === undefined ? options.body : JSON.stringify(options.json);
    const headers = new Map<string, [name: string, value: string | readonly string[]]>();
    const set = (name: string, value: string | readonly string[] | undefined) =>
      value === undefined ? headers.delete(name.toLowerCase()) : headers.set(name.toLowerCase(), [name, value]);
    set('Accept', 'application/json');
    set('X-RDCP-Client-ID', 'rdcp-conformance');
    set('X-RDCP-Request-ID', randomUUID());
    if (body !== undefined) set('Content-Type', 'application/json');
    if (who !== 'nobody') for (const [name, value] of credentialHeaders(who)) set(name, value);
    for (const [name, value] of Object.entries(options.headers ?? {})) set(name, value);
    const pairs = [...headers.values()].flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, value] as const] : value.map((one) => [name, one] as const),
    );
    return { method, path, headers: pairs, ...(body === undefined ? {} : { body }) };
  }

  /** The text without any secret that was given to the suite. */
  redact(text: string): string {
    let clean = text;
    for (const secret of this.secrets()) clean = clean.replaceAll(secret, '[secret]');
    return clean;
  }

  secrets(): readonly string[] {
    const { tenants, ...single } = this.credentials;
    return [...Object.values(single), ...tenants].flatMap(({ secret }) => (secret === undefined ? [] : [secret]));
  }
}

/** The headers that carry a credential, as the specification lists them for all levels. */
export function credentialHeaders({ method, secret }: Credential): readonly [string, string][] {
  const named: [string, string] = ['X-RDCP-Auth-Method', method];
  if (secret === undefined) return [named];
  return method === 'api-key' ? [named, ['X-RDCP-API-Key', secret]] : [named, ['Authorization', `Bearer ${secret}`]];
}

function bucketOf(path: string, who: Credential | 'nobody'): string {
  if (who === 'nobody' || !who.valid) return 'unauthenticated';
  return `${path.startsWith(PATHS.control) ? 'control' : 'read'} (${who.label})`;
}

/**
 * Evidence that several checks share, gathered once in a run. Where gathering it fails or is skipped, all of its checks are.
 */
export function evidence<T>(gather: (session: Session) => Promise<T>): (session: Session) => Promise<T> {
  const gathered = new WeakMap<Session, Promise<T>>();
  return (session) => {
    const kept = gathered.get(session) ?? gather(session);
    gathered.set(session, kept);
    return kept;
  };
}
