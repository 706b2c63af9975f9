import { RdcpError } from '../errors.ts';
import type { AuthMethod } from '../protocol/constants.ts';

/** Why a credential was refused; stands in `details.reason` (RDCP 1.0, Authentication, rule 4). */
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
  method_mismatch: 'The authentication method named in the request is not that of its credential',
};

/**
 * The answer to a credential that does not authenticate: 401 `RDCP_AUTH_FAILED`. It tells the reason's name and no
 * more, so that nobody learns how near a guess came.
 */
export function refusal(method: AuthMethod, reason: RefusalReason = INVALID[method], cause?: unknown): RdcpError {
  return new RdcpError('RDCP_AUTH_FAILED', MESSAGES[reason], {
    method,
    details: { reason },
    headers: { 'WWW-Authenticate': method === 'bearer' || method === 'hybrid' ? bearerChallenge : challenge([method]) },
    cause,
  });
}

/** RFC 6750, section 3.1: what a resource server says of a token that it refuses. */
const bearerChallenge = 'Bearer realm="rdcp", error="invalid_token"';

/**
 * The `WWW-Authenticate` value (RFC 9110, section 11.6.1) that names the methods a client can use. A client certificate
 * belongs to the connection and has no challenge; where nothing else is configured, the API key's is given, because the
 * header is required with 401.
 */
function challenge(methods: readonly AuthMethod[]): string {
  const challenges = [
    ...(methods.includes('bearer') || methods.includes('hybrid') ? ['Bearer realm="rdcp"'] : []),
    ...(methods.includes('api-key') ? [API_KEY_CHALLENGE] : []),
  ];
  return challenges.length === 0 ? API_KEY_CHALLENGE : challenges.join(', ');
}

const API_KEY_CHALLENGE = 'ApiKey realm="rdcp", header="X-RDCP-API-Key"';

/** The answer to a request that needs a credential and has none: 401 `RDCP_AUTH_REQUIRED`. */
export function authenticationRequired(methods: readonly AuthMethod[]): RdcpError {
  return new RdcpError('RDCP_AUTH_REQUIRED', 'This operation needs a credential', {
    headers: { 'WWW-Authenticate': challenge(methods) },
  });
}
