import type { AuthMethod, Scope } from '../wire/constants.ts';
import { RdcpError } from '../wire/errors.ts';
import type { Principal } from './principal.ts';

/** Why a credential was refused: `details.reason` (RDCP 1.0, Authentication, rule 4). */
const MESSAGES = {
  invalid_key: 'The API key is not valid',
  invalid_token: 'The token is not valid',
  token_expired: 'The token has expired',
  invalid_certificate: 'The client certificate is not valid',
  method_mismatch: 'The authentication method of the request does not match its credential',
};
export type RefusalReason = keyof typeof MESSAGES;

const INVALID: Record<AuthMethod, RefusalReason> = {
  'api-key': 'invalid_key',
  bearer: 'invalid_token',
  mtls: 'invalid_certificate',
  hybrid: 'invalid_token',
};

/** 401 `RDCP_AUTH_FAILED` with the reason's name alone, so that it does not help guessing. */
export function refusal(method: AuthMethod, reason: RefusalReason = INVALID[method], cause?: unknown): RdcpError {
  // RFC 6750, section 3.1.
  const isToken = method === 'bearer' || method === 'hybrid';
  const headers = isToken ? { 'WWW-Authenticate': `${BEARER_CHALLENGE}, error="invalid_token"` } : challenge([method]);
  return new RdcpError('RDCP_AUTH_FAILED', MESSAGES[reason], { method, details: { reason }, headers, cause });
}

const BEARER_CHALLENGE = 'Bearer realm="rdcp"';
const API_KEY_CHALLENGE = 'ApiKey realm="rdcp", header="X-RDCP-API-Key"';

/** The challenges of a 401 (RFC 9110, section 11.6.1). Certificates have no challenge. Without other methods it is the API key's: 401 requires the header. */
function challenge(methods: readonly AuthMethod[]) {
  const takesTokens = methods.includes('bearer') || methods.includes('hybrid');
  const takesKeys = methods.includes('api-key') || !takesTokens;
  const challenges = [...(takesTokens ? [BEARER_CHALLENGE] : []), ...(takesKeys ? [API_KEY_CHALLENGE] : [])];
  return { 'WWW-Authenticate': challenges.join(', ') };
}

/** Returns the error for a one-time code that is wrong, used or too old: 401 `RDCP_AUTH_FAILED`. The message does not say which. */
export function codeRefusal(methods: readonly AuthMethod[]): RdcpError {
  return new RdcpError('RDCP_AUTH_FAILED', 'The code is not valid: a code works once, and for 60 seconds', {
    details: { reason: 'invalid_code' },
    headers: challenge(methods),
  });
}

export function authenticationRequired(methods: readonly AuthMethod[]): RdcpError {
  return new RdcpError('RDCP_AUTH_REQUIRED', 'This operation needs a credential', { headers: challenge(methods) });
}

export function missingScope({ method, scopes }: Principal, needed: readonly Scope[], operation: string): RdcpError {
  return new RdcpError('RDCP_FORBIDDEN', `${operation} needs the scope ${needed.join(' or ')}`, {
    method,
    details: { reason: 'insufficient_scopes', requiredScopes: needed, providedScopes: scopes },
    ...(method === 'bearer' && {
      // RFC 6750, section 3.1.
      headers: { 'WWW-Authenticate': `${BEARER_CHALLENGE}, error="insufficient_scope", scope="${needed.join(' ')}"` },
    }),
  });
}

export function wrongResult(field: string, problem: string): RdcpError {
  return new RdcpError('RDCP_SERVER_ERROR', `security.authenticate: ${field} ${problem}`);
}
