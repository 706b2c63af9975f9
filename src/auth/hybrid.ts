import { hash } from 'node:crypto';
import { isRdcpError } from '../errors.ts';
import type { ClientCertificate } from './authenticator.ts';
import { commonScopes, type Principal } from './principal.ts';
import { type RefusalReason, refusal } from './refusal.ts';

/**
 * Combines a token and a certificate: user and tenant of the token, scopes and expiry that both allow.
 * @param identity of the certificate. @default no restriction
 */
export function combine(token: Principal, identity: Principal | undefined): Principal {
  if (identity === undefined) return { ...token, method: 'hybrid' };
  const expiries = [token.expiresAt, identity.expiresAt].filter((end) => end !== undefined);
  return {
    ...token,
    method: 'hybrid',
    scopes: commonScopes(token, identity),
    ...(expiries.length > 0 && { expiresAt: Math.min(...expiries) }),
  };
}

/**
 * Refuses a token that is bound to a certificate other than the connection's (RFC 8705, section 3). The response is the
 * same as for any invalid token, so that a thief does not learn that the token is valid.
 */
export function assertBinding(token: Principal, presented: ClientCertificate | undefined): void {
  const { certificateThumbprint: bound } = token;
  if (bound === undefined) return;
  if (thumbprintOf(presented) !== bound) throw refusal('bearer');
}

/** Returns the base64url SHA-256 of a certificate that TLS verified (RFC 8705, section 3.1). */
export function thumbprintOf(presented: ClientCertificate | undefined): string | undefined {
  return presented?.authorized === true ? hash('sha256', presented.certificate.raw, 'base64url') : undefined;
}

/** Reports a refusal of either credential with the method `combine`. */
export async function asHybrid(authenticate: () => Promise<Principal>): Promise<Principal> {
  try {
    return await authenticate();
  } catch (error) {
    if (!isRdcpError(error) || error.code !== 'RDCP_AUTH_FAILED') throw error;
    throw refusal('hybrid', error.details?.reason as RefusalReason, error);
  }
}
