import type { Scope } from '../../wire/constants.ts';
import { isRdcpError, RdcpError } from '../../wire/errors.ts';
import { given } from '../../wire/json-text.ts';
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

export function oauthErrorOf({ details }: RdcpError): OAuthError | undefined {
  return OAUTH_ERRORS.find((code) => code === details?.error);
}

export function badRequest(code: OAuthError, message: string): RdcpError {
  return new RdcpError('RDCP_MALFORMED_REQUEST', message, { details: { error: code } });
}

export function badCredential(
  code: OAuthError,
  method: 'api-key' | 'bearer' | 'mtls',
  reason?: RefusalReason,
): RdcpError {
  return withOAuthError(refusal(method, reason), code) as RdcpError;
}

export function widerScope({ method, scopes }: Principal, requested: readonly Scope[]): RdcpError {
  const reason = { reason: 'insufficient_scopes', requiredScopes: requested, providedScopes: scopes };
  return new RdcpError('RDCP_FORBIDDEN', 'The credential does not have every scope that was requested', {
    method,
    details: { error: 'invalid_scope', ...reason },
  });
}

export function othersToken(code: 'invalid_grant' | 'unauthorized_client', { method }: Principal): RdcpError {
  return new RdcpError('RDCP_FORBIDDEN', 'The token was not issued to this client', {
    method,
    details: { error: code },
  });
}

/** Adds an OAuth code to a refusal. Audit trail and metrics still see the original. */
export function withOAuthError(error: unknown, code: OAuthError): unknown {
  if (!isRdcpError(error) || (error.status !== 401 && error.status !== 403)) return error;
  const { method, headers, cause, message, details } = error;
  return new RdcpError(error.code, message, {
    details: { ...details, error: code },
    ...given({ method, headers }),
    cause,
  });
}
