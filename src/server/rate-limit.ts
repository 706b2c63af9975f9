import type { IncomingMessage } from 'node:http';
import { LRUCache } from 'lru-cache';
import type { Sender } from '../auth/authenticator.ts';
import { identityKey } from '../auth/principal.ts';
import { withoutStack } from '../auth/refusal.ts';
import type { Clock } from '../clock.ts';
import { isRdcpError, RdcpError } from '../errors.ts';
import { addressKey, clientAddress } from './client-address.ts';
import type { Context, Step } from './steps.ts';

/** The state of a key's quota. */
export interface Standing {
  readonly allowed: boolean;
  /** Requests allowed now. */
  readonly remaining: number;
  /** Seconds, rounded up, until the oldest counted request leaves the window. */
  readonly resetSeconds: number;
}

/** The result for one request. */
interface Verdict extends Standing {
  /** True for a refusal that follows another, with no allowed request between. */
  readonly repeated: boolean;
}

export interface RateLimiter {
  /** Name of the quota in the `RateLimit` fields. */
  readonly name: string;
  readonly limit: number;
  readonly windowSeconds: number;
  /** The quota as `RateLimit-Policy` states it. */
  readonly policy: string;
  /** Counts a request of this key if it is allowed. */
  take(key: string): Verdict;
  /** The result that `take` would return; counts nothing. */
  look(key: string): Standing;
  /** Whether this key was refused since it was last allowed. */
  wasRefused(key: string): boolean;
  /** When refused keys may be allowed again at the latest: the last refusal plus one window. */
  readonly refusedUntil: number;
}

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
  windowSeconds = 60,
}: {
  name: string;
  limit: number;
  clock: Pick<Clock, 'monotonic'>;
  windowSeconds?: number;
}): RateLimiter {
  const windowMs = windowSeconds * 1000;
  // With `max`, an LRUCache allocates memory for all keys up front.
  const logs = new LRUCache<string, RequestLog>({ maxSize: MAX_KEYS, sizeCalculation: () => 1 });
  let refusedUntil = Number.NEGATIVE_INFINITY;

  const standing = (log: RequestLog | undefined, now: number): Standing => ({
    allowed: log === undefined || log.count < limit,
    remaining: limit - (log?.count ?? 0),
    resetSeconds:
      log === undefined || log.count === 0
        ? windowSeconds
        : Math.max(1, Math.ceil((log.oldest + windowMs - now) / 1000)),
  });

  return {
    name,
    limit,
    windowSeconds,
    policy: `"${name}";q=${limit};w=${windowSeconds}`,
    take: (key) => {
      const now = clock.monotonic();
      let log = logs.get(key);
      if (log === undefined) {
        log = new RequestLog(limit);
        logs.set(key, log);
      }
      log.forget(now, windowMs);
      const allowed = log.count < limit;
      const repeated = !allowed && log.refusing;
      log.refusing = !allowed;
      if (allowed) log.add(now);
      else refusedUntil = now + windowMs;
      return { ...standing(log, now), allowed, repeated };
    },
    look: (key) => {
      const now = clock.monotonic();
      const log = logs.get(key);
      log?.forget(now, windowMs);
      return standing(log, now);
    },
    wasRefused: (key) => logs.get(key)?.refusing === true,
    get refusedUntil() {
      return refusedUntil;
    },
  };
}

/** Whether a key of one of these was refused within its window; otherwise no quota is spent. */
export function haveRefused(limiters: readonly RateLimiter[], now: number): boolean {
  return limiters.some(({ refusedUntil }) => refusedUntil > now);
}

/** Times of a key's allowed requests, oldest first, in a ring buffer that grows up to the limit. */
class RequestLog {
  refusing = false;
  count = 0;
  readonly #limit: number;
  #times: Float64Array;
  #head = 0;

  constructor(limit: number) {
    this.#limit = limit;
    this.#times = new Float64Array(Math.min(limit, 8));
  }

  get oldest(): number {
    return this.#times[this.#head]!;
  }

  /** Drops times outside the window. */
  forget(now: number, windowMs: number): void {
    while (this.count > 0 && this.oldest + windowMs <= now) {
      this.#head = (this.#head + 1) % this.#times.length;
      this.count -= 1;
    }
  }

  add(time: number): void {
    if (this.count === this.#times.length) this.#grow();
    this.#times[(this.#head + this.count) % this.#times.length] = time;
    this.count += 1;
  }

  #grow(): void {
    const grown = new Float64Array(Math.min(this.#limit, this.#times.length * 2));
    for (let index = 0; index < this.count; index += 1) {
      grown[index] = this.#times[(this.#head + index) % this.#times.length]!;
    }
    this.#times = grown;
    this.#head = 0;
  }
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

/** The origin of a request, for services that help to authenticate it. */
export function senderOf(req: IncomingMessage, anonymous: RateLimiter): Sender {
  const address = addressKey(clientAddress(req));
  return { address, isSpent: () => !anonymous.look(address).allowed };
}

/** Limits requests without a credential per address. */
export function limitAddress(limiter: RateLimiter): Step {
  return (ctx) => count(ctx, limiter, addressKey(clientAddress(ctx.req)));
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
      countRefusal(ctx, limiter, error);
      throw error;
    }
  };
}

/** Server errors do not count against the client, and rate limit refusals were already counted. */
export function countRefusal(ctx: Context, limiter: RateLimiter, error: unknown): void {
  const counts = isRdcpError(error) && error.status < 500 && error.code !== 'RDCP_RATE_LIMITED';
  if (counts && ctx.state.principal === undefined) count(ctx, limiter, addressKey(clientAddress(ctx.req)));
}

/**
 * Counts the request, and sets the RateLimit headers of draft-ietf-httpapi-ratelimit-headers.
 * @throws {RdcpError} `RDCP_RATE_LIMITED` when the quota is spent
 */
export function count({ res, state }: Context, limiter: RateLimiter, key: string): void {
  const verdict = limiter.take(key);
  if (!res.headersSent) for (const [name, value] of quotaFields(limiter, verdict)) res.setHeader(name, value);
  if (verdict.allowed) return;
  state.refusalRepeated = verdict.repeated;
  throw quotaSpent(limiter, verdict);
}

export function quotaFields({ name, policy }: RateLimiter, { remaining, resetSeconds }: Standing) {
  return [
    ['RateLimit-Policy', policy],
    ['RateLimit', `"${name}";r=${remaining};t=${resetSeconds}`],
  ] as const;
}

export function quotaSpent({ limit, windowSeconds }: RateLimiter, { resetSeconds }: Standing): RdcpError {
  const message = `More than ${limit} requests in ${windowSeconds} seconds`;
  const details = { limit, windowSeconds, retryAfterSeconds: resetSeconds };
  const headers = { 'Retry-After': String(resetSeconds) };
  return withoutStack(() => new RdcpError('RDCP_RATE_LIMITED', message, { details, headers }));
}
