import { isRdcpError, RdcpError } from '../../errors.ts';
import type { Scope } from '../../protocol/constants.ts';
import type { Principal } from '../principal.ts';
import { type RefusalReason, refusal } from '../refusal.ts';

/** Error codes of RFC 6749 (section 5.2), RFC 7009 (section 2.2.1) and RFC 8693 (section 2.2.2). */
const OAUTH_ERRORS = [
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'unsupported_token_type',
  'invalid_scope',
  'invalid_target',
] as const;
export type OAuthError = (typeof OAUTH_ERRORS)[number];

/** The code that a refusal of this file has; `undefined` for any other error. */
export function oauthErrorOf({ details }: RdcpError): OAuthError | undefined {
  return OAUTH_ERRORS.find((code) => code === details?.error);
}

/** A request that cannot be granted as it is written. */
export function badRequest(code: OAuthError, message: string): RdcpError {
  return new RdcpError('RDCP_MALFORMED_REQUEST', message, { details: { error: code } });
}

/** A credential in the body that is not valid. */
export function badCredential(
  code: OAuthError,
  method: 'api-key' | 'bearer' | 'mtls',
  reason?: RefusalReason,
): RdcpError {
  return withOAuthError(refusal(method, reason), code) as RdcpError;
}

/** A scope that the credential does not have. */
export function widerScope({ method, scopes }: Principal, requested: readonly Scope[]): RdcpError {
  return forbidden(method, 'The credential does not have every scope that was requested', {
    error: 'invalid_scope',
    reason: 'insufficient_scopes',
    requiredScopes: requested,
    providedScopes: scopes,
  });
}

/** A token of somebody else. */
export function othersToken(code: 'invalid_grant' | 'unauthorized_client', { method }: Principal): RdcpError {
  return forbidden(method, 'The token was not issued to this client', { error: code });
}

/**
 * The same refusal with its code for the client; to the audit trail and the metrics it stays what it was. Errors that say
 * nothing about a credential come back unchanged.
 */
export function withOAuthError(error: unknown, code: OAuthError): unknown {
  if (!isRdcpError(error) || (error.status !== 401 && error.status !== 403)) return error;
  const { method, headers, cause, message, details } = error;
  return new RdcpError(error.code, message, {
    details: { ...details, error: code },
    ...(method !== undefined && { method }),
    ...(headers !== undefined && { headers }),
    cause,
  });
}

function forbidden(method: string, message: string, details: Readonly<Record<string, unknown>>): RdcpError {
  return new RdcpError('RDCP_FORBIDDEN', message, { method, details });
}
