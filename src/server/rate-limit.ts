import { LRUCache } from 'lru-cache';
import type { Clock } from '../clock.ts';

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
  // Created lazily: it allocates memory for all keys at once.
  let logs: LRUCache<string, RequestLog> | undefined;
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
      logs ??= new LRUCache({ max: MAX_KEYS });
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
      const log = logs?.get(key);
      log?.forget(now, windowMs);
      return standing(log, now);
    },
    wasRefused: (key) => logs?.get(key)?.refusing === true,
    get refusedUntil() {
      return refusedUntil;
    },
  };
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
    return this.#times[this.#head] ?? 0;
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
      grown[index] = this.#times[(this.#head + index) % this.#times.length] ?? 0;
    }
    this.#times = grown;
    this.#head = 0;
  }
}

/**
 * The rate limit key of an address. An IPv6 subscriber holds at least a /64 (RFC 6177), which counts as one address.
 */
export function addressKey(address: string): string {
  if (!address.includes(':')) return address;
  const [left = '', right] = address.replace(/%.*$/, '').toLowerCase().split('::');
  const head = left === '' ? [] : left.split(':');
  const tail = right === undefined || right === '' ? [] : right.split(':');
  const groups =
    right === undefined ? head : [...head, ...Array(Math.max(0, 8 - head.length - tail.length)).fill('0'), ...tail];
  return groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':');
}
