import { hash } from 'node:crypto';
import { isRdcpError } from '../errors.ts';
import type { ClientCertificate } from './authenticator.ts';
import { commonScopes, type Principal } from './principal.ts';
import { type RefusalReason, refusal } from './refusal.ts';

/**
 * Who a token and a certificate are together: user and tenant are the token's, and only what both allow is allowed.
 * @param identity of the certificate; one that is mapped to nobody takes nothing away
 */
export function hybrid(token: Principal, identity: Principal | undefined): Principal {
  if (identity === undefined) return { ...token, method: 'hybrid' };
  const ends = [token.expiresAt, identity.expiresAt].filter((end) => end !== undefined);
  return {
    ...token,
    method: 'hybrid',
    scopes: commonScopes(token, identity),
    ...(ends.length > 0 && { expiresAt: Math.min(...ends) }),
  };
}

/**
 * Refuses a token that is bound to another certificate than the one of its connection (RFC 8705, section 3). The answer is
 * that to any other bad token: whoever stole one does not learn that it is good.
 */
export function assertBinding(token: Principal, presented: ClientCertificate | undefined): void {
  const { certificateThumbprint: bound } = token;
  if (bound === undefined) return;
  if (thumbprintOf(presented) !== bound) throw refusal('bearer');
}

/** SHA-256 of a certificate that TLS found valid, base64url (RFC 8705, section 3.1). */
export function thumbprintOf(presented: ClientCertificate | undefined): string | undefined {
  return presented?.authorized === true ? hash('sha256', presented.certificate.raw, 'base64url') : undefined;
}

/** Tells refusals of the pair as those of the pair, although one half of it was refused. */
export async function asHybrid(authenticate: () => Promise<Principal>): Promise<Principal> {
  try {
    return await authenticate();
  } catch (error) {
    if (!isRdcpError(error) || error.code !== 'RDCP_AUTH_FAILED') throw error;
    throw refusal('hybrid', error.details?.reason as RefusalReason, error);
  }
}
