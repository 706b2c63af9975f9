import type { IncomingMessage } from 'node:http';
import type { Sender } from '../../auth/authenticator.ts';
import { identityKey } from '../../auth/principal.ts';
import { RdcpError } from '../../errors.ts';
import { clientAddress } from '../client-address.ts';
import type { Context, Step } from '../context.ts';
import { addressKey, type RateLimiter, type Standing } from '../rate-limit.ts';

/**
 * Limits the authenticated identity, whatever its headers say. It stands before the scope check, because a refusal
 * costs an entry of the audit trail, and so must be limited too. A request without an identity was counted by address.
 */
export function rateLimit(limiter: RateLimiter): Step {
  return (ctx) => {
    const { principal } = ctx.state;
    if (principal !== undefined) count(ctx, limiter, identityKey(principal));
  };
}

/** Where a request comes from, for what is asked of others before it is known who sends it. */
export function senderOf(req: IncomingMessage, anonymous: RateLimiter): Sender {
  const address = addressKey(clientAddress(req));
  return { address, isSpent: () => !anonymous.look(address).allowed };
}

/** Limits what one address asks for without a credential. */
export function limitAddress(limiter: RateLimiter): Step {
  return (ctx) => count(ctx, limiter, addressKey(clientAddress(ctx.req)));
}

/**
 * Counts the request, and says how the quota stands in the fields of draft-ietf-httpapi-ratelimit-headers.
 * @throws {RdcpError} `RDCP_RATE_LIMITED` when it is spent
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
  return new RdcpError('RDCP_RATE_LIMITED', `More than ${limit} requests in ${windowSeconds} seconds`, {
    details: { limit, windowSeconds, retryAfterSeconds: resetSeconds },
    headers: { 'Retry-After': String(resetSeconds) },
  });
}
