import { LRUCache } from 'lru-cache';
import type { Authenticator, Sender } from '../../access/authenticator.ts';
import { assertScope, identityKey, type Principal } from '../../access/principal.ts';
import { authenticationRequired } from '../../access/refusal.ts';
import type { Access, Addressing } from '../../control/tenancy/address.ts';
import type { ResolvedConfig } from '../../options/config.ts';
import { REQUEST_HEADERS, type Scope } from '../../wire/constants.ts';
import { isRdcpError, type RdcpError } from '../../wire/errors.ts';
import { escapeUnprintable } from '../../wire/printable.ts';
import { REFUSALS } from '../../wire/refusals.ts';
import type { Clock } from '../../wire/time/clock.ts';
import { clientCertificateOf } from '../request.ts';
import type { Context, Step } from '../steps.ts';

/**
 * Authenticates the sender of a request; resolves to `undefined` without a credential. Rejects as
 * {@link Authenticator.authenticate} does.
 */
export type Identify = (ctx: Context) => Promise<Principal | undefined>;

/**
 * @param anonymous counts requests without a valid credential, by address
 * @param keysAsBearer whether an API key may come as a bearer token, because senders of webhooks can rarely set another header
 */
export function createIdentify(authenticator: Authenticator, anonymous: RateLimiter, keysAsBearer = false): Identify {
  return (ctx) =>
    authenticator.authenticate({
      headers: keysAsBearer ? withBearerKey(ctx.req.headersDistinct) : ctx.req.headersDistinct,
      sender: senderOf(ctx, anonymous),
      clientCertificate: clientCertificateOf(ctx.req),
      message: ctx.req,
    });
}

const BEARER_KEY = /^bearer +(rdcp_.*)$/i;

/** Moves the key to its own header, unless the request has that too. */
function withBearerKey(headers: NodeJS.Dict<string[]>): NodeJS.Dict<string[]> {
  const [authorization = '', ...others] = headers.authorization ?? [];
  const [, key] = BEARER_KEY.exec(authorization) ?? [];
  if (key === undefined || others.length > 0 || headers[REQUEST_HEADERS.apiKey] !== undefined) return headers;
  const { authorization: _, ...rest } = headers;
  return { ...rest, [REQUEST_HEADERS.apiKey]: [key] };
}

/**
 * Authenticates the caller. Requests without a valid credential are counted per address; over quota they get 429, while
 * valid credentials from the same address are still served.
 * @param probes counts requests without a credential; a wrong credential counts in `limiter`. @default limiter
 * @param anonymous whether a request may continue without a credential; `open` also ignores a wrong one
 */
export function authenticate(
  {
    identify,
    methods,
    limiter,
    probes = limiter,
  }: Pick<Authenticator, 'methods'> & { identify: Identify; limiter: RateLimiter; probes?: RateLimiter },
  anonymous: 'refused' | 'allowed' | 'open' = 'refused',
): Step {
  const without = (ctx: Context, failure?: RdcpError) => {
    // A server error says nothing about the credential, so it does not count against the client.
    const quota = failure === undefined ? probes : limiter;
    if (failure === undefined || failure.status < 500) count(ctx, quota, ctx.state.facts.clientKey);
    if (anonymous === 'open') return;
    if (failure !== undefined) throw failure;
    if (anonymous === 'refused') throw authenticationRequired(methods);
  };
  return (ctx) =>
    identify(ctx).then(
      (principal) => {
        if (principal === undefined) without(ctx);
        else ctx.state.principal = principal;
      },
      (failure: unknown) => {
        if (!isRdcpError(failure)) throw failure;
        without(ctx, failure);
      },
    );
}

/** The scopes of which a route needs one, where they depend on the credential or the configuration. */
export type ScopeRule = readonly Scope[] | ((principal: Principal, config: ResolvedConfig) => readonly Scope[]);

/** `admin`; a credential that is for some tenants reads what is of these with `control`. */
export const scopesOfTenants: ScopeRule = ({ tenants }) => (tenants === undefined ? ['admin'] : ['admin', 'control']);

export const scopesOfTail: ScopeRule = (_, { tail }) => (tail === false ? ['tail'] : [tail.scope, 'tail']);

export function authorize(rule: ScopeRule, config: ResolvedConfig): Step {
  return (ctx) => {
    const { principal } = ctx.state;
    if (principal !== undefined) assertScope(principal, typeof rule === 'function' ? rule(principal, config) : rule);
  };
}

const MAX_TENANT_NAME_LENGTH = 200;

/** Determines the tenant that the request addresses: the credential decides, and headers must agree. */
export function tenancy(addressing: Addressing, access: Access): Step {
  return (ctx) => {
    const { req, state } = ctx;
    const headers = req.headersDistinct;
    const tenantIds = headers[REQUEST_HEADERS.tenantId] ?? [];
    const isolationLevel = headers[REQUEST_HEADERS.isolationLevel]?.[0];
    const name = headers[REQUEST_HEADERS.tenantName]?.[0];
    const address = addressing.resolve(state.principal, { tenantIds, isolationLevel }, access);
    state.tenancy = name === undefined ? address : { ...address, tenantName: inTrail(name) };
  };
}

/** The name decides nothing but is recorded: it is truncated and stripped of control characters. */
function inTrail(name: string): string {
  return escapeUnprintable(name.slice(0, MAX_TENANT_NAME_LENGTH));
}

/**
 * Limits requests per authenticated identity. Runs before the scope check, because a refusal there writes an audit
 * entry. Requests without an identity were already counted by address.
 */
export function rateLimit(limiter: RateLimiter): Step {
  return (ctx) => {
    const { principal } = ctx.state;
    if (principal !== undefined) count(ctx, limiter, identityKey(principal));
  };
}

/**
 * Limits control requests. A client that has used up its changes must be able to stop what they do: up to the quota of
 * `ending` a request beyond that of `control` goes on, and is refused once its body says that it ends nothing.
 */
export function limitControls({ control, ending }: Quotas): Step {
  return (ctx) => {
    const { principal } = ctx.state;
    if (principal === undefined) return;
    const key = identityKey(principal);
    const refusal = take(ctx, control, key);
    if (refusal !== undefined && !ending.take(key).allowed) throw refusal;
    ctx.state.overQuota = refusal;
  };
}

export function senderOf({ state }: Context, anonymous: RateLimiter): Sender {
  const address = state.facts.clientKey;
  return { address, isSpent: () => anonymous.isSpent(address) };
}

export function limitAddress(limiter: RateLimiter): Step {
  return (ctx) => count(ctx, limiter, ctx.state.facts.clientKey);
}

/**
 * Runs steps of a path whose credential is in the body. As with a credential in a header, it is verified first: a refusal
 * without a valid one counts against the address.
 */
export function limitRefusals(limiter: RateLimiter, ...sequence: readonly Step[]): Step {
  return async (ctx) => {
    try {
      for (const step of sequence) await step(ctx);
    } catch (error) {
      // Server errors do not count against the client, and rate limit refusals were already counted.
      const counts = isRdcpError(error) && error.status < 500 && error.code !== 'RDCP_RATE_LIMITED';
      if (counts && ctx.state.principal === undefined) count(ctx, limiter, ctx.state.facts.clientKey);
      throw error;
    }
  };
}

/** Counts the request. @throws {RdcpError} `RDCP_RATE_LIMITED` when the quota is spent */
export function count(ctx: Context, limiter: RateLimiter, key: string): void {
  const refusal = take(ctx, limiter, key);
  if (refusal !== undefined) throw refusal;
}

/**
 * Counts the request, and sets the RateLimit headers of draft-ietf-httpapi-ratelimit-headers. Returns the refusal when the
 * quota is spent.
 */
function take({ res, state }: Context, limiter: RateLimiter, key: string): RdcpError | undefined {
  const verdict = limiter.take(key);
  const { name, policy, limit } = limiter;
  const { allowed, remaining, resetSeconds, repeated } = verdict;
  if (!res.headersSent) {
    res.setHeader('RateLimit-Policy', policy);
    res.setHeader('RateLimit', `"${name}";r=${remaining};t=${resetSeconds}`);
  }
  if (allowed) return undefined;
  state.refusalRepeated = repeated;
  return REFUSALS.rateLimited(limit, WINDOW_SECONDS, resetSeconds);
}

export type RateLimiter = ReturnType<typeof createRateLimiter>;

/** Requests of an identity that end something are never refused before this many a minute. */
const ENDINGS_PER_MINUTE = 600;

/** What each quota counts: requests of an identity, or those without a valid credential from an address. */
export function createQuotas(limits: ResolvedConfig['limits'], clock: Pick<Clock, 'monotonic'>) {
  const { controlPerMinute, readPerMinute, healthPerMinute, anonymousPerMinute } = limits;
  const limiter = (name: string, limit: number) => createRateLimiter({ name, limit, clock });
  return {
    read: limiter('read', readPerMinute),
    control: limiter('control', controlPerMinute),
    /** Beyond `control`, of requests that end something. */
    ending: limiter('ending', Math.max(ENDINGS_PER_MINUTE, controlPerMinute)),
    token: limiter('token', controlPerMinute),
    anonymous: limiter('anonymous', anonymousPerMinute),
    health: limiter('health', healthPerMinute),
    address: limiter('address', readPerMinute),
    console: limiter('console', readPerMinute),
  };
}

export type Quotas = ReturnType<typeof createQuotas>;
export type QuotaName = keyof Quotas;

const WINDOW_SECONDS = 60;
const WINDOW_MS = WINDOW_SECONDS * 1000;

/**
 * Most counters kept; the least recently used key is evicted. To evict its own counter, a client would need this many
 * other addresses.
 */
const MAX_KEYS = 20_000;

/**
 * An exact sliding window. The time of every allowed request is kept until it leaves the window, so no window of that
 * length exceeds the limit. (Fixed windows would allow twice the limit around their boundary.) Refused requests are not
 * counted.
 */
export function createRateLimiter({
  name,
  limit,
  clock,
}: {
  name: string;
  limit: number;
  clock: Pick<Clock, 'monotonic'>;
}) {
  // With `max`, an LRUCache allocates memory for all keys up front.
  const logs = new LRUCache<string, RequestLog>({ maxSize: MAX_KEYS, sizeCalculation: () => 1 });

  /** Without the times that have left the window. */
  const logOf = (key: string, now: number): RequestLog => {
    let log = logs.get(key);
    if (log === undefined) {
      log = { times: [], refusing: false };
      logs.set(key, log);
    }
    const { times } = log;
    while (times[0] !== undefined && times[0] + WINDOW_MS <= now) times.shift();
    return log;
  };

  return {
    name,
    limit,
    policy: `"${name}";q=${limit};w=${WINDOW_SECONDS}`,
    /** Counts a request of this key if it is allowed. `repeated` is a refusal that follows another, with no allowed request between. */
    take: (key: string) => {
      const now = clock.monotonic();
      const log = logOf(key, now);
      const { times } = log;
      const allowed = times.length < limit;
      const repeated = !allowed && log.refusing;
      log.refusing = !allowed;
      if (allowed) times.push(now);
      const [oldest = now] = times;
      const resetSeconds = Math.max(1, Math.ceil((oldest + WINDOW_MS - now) / 1000));
      return { allowed, remaining: limit - times.length, resetSeconds, repeated };
    },
    /** Whether `take` would refuse; counts nothing. */
    isSpent: (key: string) => {
      // The request that has to leave the window before another one is allowed.
      const blocking = logs.peek(key)?.times.at(-limit);
      return blocking !== undefined && blocking + WINDOW_MS > clock.monotonic();
    },
  };
}

interface RequestLog {
  /** Monotonic times of the allowed requests, oldest first. */
  readonly times: number[];
  /** Whether the last request was refused. */
  refusing: boolean;
}
