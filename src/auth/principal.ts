import { RdcpError } from '../errors.ts';
import { type AuthMethod, SCOPES, type Scope } from '../protocol/constants.ts';

/** The authenticated identity. It comes from the credential alone, never from headers. */
export interface Principal {
  readonly method: AuthMethod;
  readonly userId: string;
  /** The authenticated client. Rate limits and replays are per client, user and tenant. */
  readonly clientId?: string;
  readonly tenantId?: string;
  readonly scopes: readonly Scope[];
  readonly sessionId?: string;
  /** Milliseconds since the epoch; absent if the access does not expire. */
  readonly expiresAt?: number;
  /** Id of the API key's record, also for a token issued for the key. The access ends with the key. */
  readonly keyId?: string;
  /** SHA-256 of the certificate that a token is bound to, base64url (RFC 8705, `x5t#S256`). */
  readonly certificateThumbprint?: string;
}

/**
 * Returns a unique key of the identity, for rate limits and replays, without credentials. It ignores the authentication
 * method: a key, its tokens and a certificate of the same user and client share one rate limit.
 */
export function identityKey(principal: Principal): string {
  const known = identityKeys.get(principal);
  if (known !== undefined) return known;
  const { tenantId = '', userId, clientId = userId } = principal;
  const key = JSON.stringify([tenantId, clientId, userId]);
  identityKeys.set(principal, key);
  return key;
}

/** API keys and cached tokens return the same principal object each time. */
const identityKeys = new WeakMap<Principal, string>();

/** Whether the principal has the scope, or `admin`, which implies all. */
export function hasScope(principal: Principal, scope: Scope): boolean {
  return principal.scopes.includes(scope) || principal.scopes.includes('admin');
}

/** Returns the scopes that both principals have. */
export function commonScopes(one: Principal, other: Principal): Scope[] {
  return SCOPES.filter(
    (scope) =>
      (one.scopes.includes(scope) && hasScope(other, scope)) || (other.scopes.includes(scope) && hasScope(one, scope)),
  );
}

/**
 * Requires one of the scopes.
 * @param operation name of the operation, for the message
 * @throws {RdcpError} `RDCP_FORBIDDEN` with `details.reason` `insufficient_scopes`
 */
export function assertScope(principal: Principal, scopes: readonly Scope[], operation = 'This operation'): void {
  if (scopes.some((scope) => hasScope(principal, scope))) return;
  throw new RdcpError('RDCP_FORBIDDEN', `${operation} needs the scope ${scopes.join(' or ')}`, {
    method: principal.method,
    details: { reason: 'insufficient_scopes', requiredScopes: scopes, providedScopes: principal.scopes },
    ...(principal.method === 'bearer' && {
      // RFC 6750, section 3.1.
      headers: { 'WWW-Authenticate': `Bearer realm="rdcp", error="insufficient_scope", scope="${scopes.join(' ')}"` },
    }),
  });
}
