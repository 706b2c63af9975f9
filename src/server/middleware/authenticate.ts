import type { Authenticator } from '../../auth/authenticator.ts';
import { authenticationRequired } from '../../auth/refusal.ts';
import { isRdcpError, type RdcpError } from '../../errors.ts';
import { clientAddress } from '../client-address.ts';
import type { Context, Step } from '../context.ts';
import type { Identify } from '../identify.ts';
import { addressKey, type RateLimiter } from '../rate-limit.ts';
import { count } from './rate-limit.ts';

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
    if (failure === undefined || failure.status < 500) count(ctx, quota, addressKey(clientAddress(ctx.req)));
    if (anonymous === 'open') return;
    if (failure !== undefined) throw failure;
    if (anonymous === 'refused') throw authenticationRequired(methods);
  };
  return (ctx) =>
    identify(ctx.req).then(
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
