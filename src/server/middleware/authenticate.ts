import type { Authenticator } from '../../auth/authenticator.ts';
import { authenticationRequired } from '../../auth/refusal.ts';
import { isRdcpError, type RdcpError } from '../../errors.ts';
import { clientAddress } from '../client-address.ts';
import type { Context, Step } from '../context.ts';
import type { Identify } from '../identify.ts';
import { addressKey, type RateLimiter } from '../rate-limit.ts';
import { count } from './rate-limit.ts';

/**
 * Finds out who asks. Requests without a valid credential are counted per address, whatever becomes of them: once the
 * quota is spent they get 429, while a valid credential from the same address is still served.
 * @param probes counts requests without any credential; a wrong one counts in `limiter` all the same. @default limiter
 * @param anonymous whether a request may go on without a credential; `open` lets even a wrong one pass as none
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
    // A server error says nothing about the credential, so it costs the client nothing.
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
