import { type ErrorCode, RdcpError } from '../../errors.ts';
import type { Scope } from '../../protocol/constants.ts';
import type { Principal } from '../principal.ts';
import { type RefusalReason, refusal } from '../refusal.ts';

/** Error codes of RFC 6749, section 5.2, and of RFC 8693; they stand in `details.error` of our envelope. */
export type OAuthError =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'invalid_scope'
  | 'invalid_target';

/** A request that cannot be granted as it is written: 400. */
export function badRequest(error: OAuthError, message: string, field?: string): RdcpError {
  return new RdcpError('RDCP_MALFORMED_REQUEST', message, {
    details: { error, ...(field !== undefined && { field }) },
  });
}

/** A credential in the body that is not valid: 401. */
export function badCredential(
  error: OAuthError,
  method: 'api-key' | 'bearer' | 'mtls',
  reason?: RefusalReason,
  cause?: unknown,
): RdcpError {
  const base = refusal(method, reason, cause);
  // RFC 6749, section 5.2: a client that authenticated by a scheme is answered with it.
  const headers =
    error === 'invalid_client' ? { 'WWW-Authenticate': 'Basic realm="rdcp", charset="UTF-8"' } : base.headers;
  return new RdcpError('RDCP_AUTH_FAILED', base.message, {
    method,
    details: { ...base.details, error },
    ...(headers !== undefined && { headers }),
    cause,
  });
}

/** A scope that the credential has not: 403. */
export function widerScope({ method, scopes }: Principal, requested: readonly Scope[]): RdcpError {
  return forbidden(method, 'A token cannot have a scope that its credential has not', {
    error: 'invalid_scope',
    reason: 'insufficient_scopes',
    requiredScopes: requested,
    providedScopes: scopes,
  });
}

/** A token of somebody else: 403. */
export function othersToken({ method }: Principal): RdcpError {
  return forbidden(method, 'The token was not issued to this client', { error: 'unauthorized_client' });
}

function forbidden(method: string, message: string, details: Readonly<Record<string, unknown>>): RdcpError {
  const code: ErrorCode = 'RDCP_FORBIDDEN';
  return new RdcpError(code, message, { method, details });
}
