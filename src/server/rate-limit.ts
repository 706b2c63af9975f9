import { LRUCache } from 'lru-cache';
import type { Clock } from '../clock.ts';

/** How the quota of a key stands. */
export interface Standing {
  readonly allowed: boolean;
  /** Requests that would be allowed now. */
  readonly remaining: number;
  /** Seconds, rounded up, until the oldest counted request leaves the window and gives its place back. */
  readonly resetSeconds: number;
}

/** What became of one request. */
interface Verdict extends Standing {
  /** True for a refusal after an earlier one, with no request allowed between them. */
  readonly repeated: boolean;
}

export interface RateLimiter {
  /** Name of the quota in the `RateLimit` fields. */
  readonly name: string;
  readonly limit: number;
  readonly windowSeconds: number;
  /** The quota as `RateLimit-Policy` writes it. */
  readonly policy: string;
  /** Counts a request of this key when it is allowed. */
  take(key: string): Verdict;
  /** What `take` would answer for this key; counts nothing. */
  look(key: string): Standing;
  /** Whether this key was refused since it was last allowed. */
  wasRefused(key: string): boolean;
  /** Until when a key that was refused may still be: the time of the clock at the last refusal, and a window. */
  readonly refusedUntil: number;
}

/**
 * Counters kept at most; the key that was quiet longest is forgotten first. To have its own forgotten, and begin with a
 * fresh quota, a client needs that many other addresses.
 */
const MAX_KEYS = 20_000;

/**
 * A rolling window that is exact: the time of every allowed request is kept until it leaves the window, so that no
 * window of that length, wherever it begins, holds more than the limit. (A counter per fixed minute lets twice the
 * limit through around its boundary.) Refused requests are not counted.
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
  // Made when it is needed: it takes the room for all keys at once.
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

/** Times of the allowed requests of one key, oldest first: a ring that grows up to the limit. */
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

  /** Drops what has left the window. */
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
 * The address as a key for counting. One IPv6 subscriber holds at least a /64 (RFC 6177), so the whole of it counts as
 * one address.
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
