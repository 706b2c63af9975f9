import type { IncomingMessage } from 'node:http';
import type { Sender } from '../../auth/authenticator.ts';
import { identityKey } from '../../auth/principal.ts';
import { withoutStack } from '../../auth/refusal.ts';
import { isRdcpError, RdcpError } from '../../errors.ts';
import { clientAddress } from '../client-address.ts';
import type { Context, Step } from '../context.ts';
import { addressKey, type RateLimiter, type Standing } from '../rate-limit.ts';

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
