import type { Authenticator, CredentialRequest } from '../../auth/authenticator.ts';
import { authenticationRequired } from '../../auth/refusal.ts';
import { isRdcpError, type RdcpError } from '../../errors.ts';
import { clientAddress } from '../client-address.ts';
import { clientCertificateOf } from '../client-certificate.ts';
import type { Context, Step } from '../context.ts';
import { addressKey, type RateLimiter } from '../rate-limit.ts';
import { count, senderOf } from './rate-limit.ts';

/**
 * Finds out who asks. Requests without a valid credential are counted per address, whatever becomes of them: once the
 * quota is spent they get 429, while a valid credential from the same address is still served.
 * @param probes counts requests without any credential; a wrong one counts in `limiter` all the same. @default limiter
 * @param anonymous whether a request may go on without a credential; `open` lets even a wrong one pass as none
 */
export function authenticate(
  {
    authenticator,
    limiter,
    probes = limiter,
  }: { authenticator: Authenticator; limiter: RateLimiter; probes?: RateLimiter },
  anonymous: 'refused' | 'allowed' | 'open' = 'refused',
): Step {
  const without = (ctx: Context, failure?: RdcpError) => {
    // A server error says nothing about the credential, so it costs the client nothing.
    const quota = failure === undefined ? probes : limiter;
    if (failure === undefined || failure.status < 500) count(ctx, quota, addressKey(clientAddress(ctx.req)));
    if (anonymous === 'open') return;
    if (failure !== undefined) throw failure;
    if (anonymous === 'refused') throw authenticationRequired(authenticator.methods);
  };
  return (ctx) =>
    authenticator.authenticate(credentialsOf(ctx, limiter)).then(
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

function credentialsOf(ctx: Context, limiter: RateLimiter): CredentialRequest {
  const { req } = ctx;
  return {
    headers: req.headersDistinct,
    clientCertificate: clientCertificateOf(req),
    sender: senderOf(ctx, limiter),
    message: req,
  };
}
