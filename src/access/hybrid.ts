import { hash } from 'node:crypto';
import { isRdcpError } from '../wire/errors.ts';
import type { ClientCertificate } from './authenticator.ts';
import { narrowed, type Principal } from './principal.ts';
import { type RefusalReason, refusal } from './refusal.ts';

/** User and tenant of the token; scopes, limits and expiry of both. @throws {RdcpError} `RDCP_AUTH_FAILED` if that is nothing */
export function combine(token: Principal, identity: Principal | undefined): Principal {
  const pair = identity === undefined ? token : narrowed(token, identity);
  if (pair === undefined) throw refusal('hybrid');
  return { ...pair, method: 'hybrid' };
}

/** Refuses a token bound to another certificate (RFC 8705, section 3) as a wrong one: a thief must not learn that it is valid. */
export function assertBinding(token: Principal, presented: ClientCertificate | undefined): void {
  const { certificateThumbprint: bound } = token;
  if (bound === undefined) return;
  if (thumbprintOf(presented) !== bound) throw refusal('bearer');
}

/** Returns the base64url SHA-256 of a certificate that TLS verified (RFC 8705, section 3.1). */
export function thumbprintOf(presented: ClientCertificate | undefined): string | undefined {
  return presented?.authorized === true ? hash('sha256', presented.certificate.raw, 'base64url') : undefined;
}

/** Returns a refusal of either credential with the method `hybrid`, and any other error unchanged. */
export function asHybrid(error: unknown): unknown {
  if (!isRdcpError(error) || error.code !== 'RDCP_AUTH_FAILED') return error;
  return refusal('hybrid', error.details?.reason as RefusalReason, error);
}
