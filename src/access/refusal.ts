import type { AuthMethod } from '../wire/constants.ts';
import { RdcpError } from '../wire/errors.ts';

/** Why a credential was refused: `details.reason` (RDCP 1.0, Authentication, rule 4). */
export type RefusalReason =
  | 'invalid_key'
  | 'invalid_token'
  | 'token_expired'
  | 'invalid_certificate'
  | 'method_mismatch';

const INVALID: Record<AuthMethod, RefusalReason> = {
  'api-key': 'invalid_key',
  bearer: 'invalid_token',
  mtls: 'invalid_certificate',
  hybrid: 'invalid_token',
};

const MESSAGES: Record<RefusalReason, string> = {
  invalid_key: 'The API key is not valid',
  invalid_token: 'The token is not valid',
  token_expired: 'The token has expired',
  invalid_certificate: 'The client certificate is not valid',
  method_mismatch: 'The authentication method of the request does not match its credential',
};

/**
 * Returns the error for an invalid credential: 401 `RDCP_AUTH_FAILED`. It contains only the reason's name, so that it does
 * not help guessing.
 */
export function refusal(method: AuthMethod, reason: RefusalReason = INVALID[method], cause?: unknown): RdcpError {
  const schemes = method === 'bearer' || method === 'hybrid' ? bearerChallenge : challenge([method]);
  const options = { method, details: { reason }, headers: { 'WWW-Authenticate': schemes }, cause };
  return new RdcpError('RDCP_AUTH_FAILED', MESSAGES[reason], options);
}

/** RFC 6750, section 3.1. */
const bearerChallenge = 'Bearer realm="rdcp", error="invalid_token"';

/**
 * Returns the `WWW-Authenticate` value (RFC 9110, section 11.6.1) with the available methods. Client certificates have no
 * challenge. Without other methods it returns the API key's, because 401 requires the header.
 */
function challenge(methods: readonly AuthMethod[]): string {
  const challenges = [
    ...(methods.includes('bearer') || methods.includes('hybrid') ? ['Bearer realm="rdcp"'] : []),
    ...(methods.includes('api-key') ? [API_KEY_CHALLENGE] : []),
  ];
  return challenges.length === 0 ? API_KEY_CHALLENGE : challenges.join(', ');
}

const API_KEY_CHALLENGE = 'ApiKey realm="rdcp", header="X-RDCP-API-Key"';

/** Returns the error for a one-time code that is wrong, used or too old: 401 `RDCP_AUTH_FAILED`. The message does not say which. */
export function codeRefusal(methods: readonly AuthMethod[]): RdcpError {
  return new RdcpError('RDCP_AUTH_FAILED', 'The code is not valid: a code works once, and for 60 seconds', {
    details: { reason: 'invalid_code' },
    headers: { 'WWW-Authenticate': challenge(methods) },
  });
}

/** Returns the error for a missing credential: 401 `RDCP_AUTH_REQUIRED`. */
export function authenticationRequired(methods: readonly AuthMethod[]): RdcpError {
  const headers = { 'WWW-Authenticate': challenge(methods) };
  return new RdcpError('RDCP_AUTH_REQUIRED', 'This operation needs a credential', { headers });
}
