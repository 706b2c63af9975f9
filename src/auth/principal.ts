import { RdcpError } from '../errors.ts';
import { type AuthMethod, SCOPES, type Scope } from '../protocol/constants.ts';

/** Who is asking, as the credential says it. Headers never add to it. */
export interface Principal {
  readonly method: AuthMethod;
  readonly userId: string;
  /** The authenticated client: rate limits and replays are kept per client, user and tenant. */
  readonly clientId?: string;
  readonly tenantId?: string;
  readonly scopes: readonly Scope[];
  readonly sessionId?: string;
  /** Milliseconds since the epoch; absent where the access is not limited in time. */
  readonly expiresAt?: number;
  /** Id of the API key's record, also behind a token that was issued for the key: the access ends with the key. */
  readonly keyId?: string;
  /** SHA-256 of the certificate that a token is bound to, base64url (RFC 8705, `x5t#S256`). */
  readonly certificateThumbprint?: string;
}

/**
 * A string that tells identities apart, for counters and replay keys. Holds no credential. How somebody authenticates is no
 * part of it: a key, the tokens made from it and a certificate of the same user and client share one budget.
 */
export function identityKey(principal: Principal): string {
  const known = identityKeys.get(principal);
  if (known !== undefined) return known;
  const { tenantId = '', userId, clientId = userId } = principal;
  const key = JSON.stringify([tenantId, clientId, userId]);
  identityKeys.set(principal, key);
  return key;
}

/** A key, and a token that was seen before, gives the same principal each time. */
const identityKeys = new WeakMap<Principal, string>();

/** True when the principal holds the scope itself or `admin`, which implies all. */
export function hasScope(principal: Principal, scope: Scope): boolean {
  return principal.scopes.includes(scope) || principal.scopes.includes('admin');
}

/** The fewest scopes that allow what both principals allow. */
export function commonScopes(one: Principal, other: Principal): Scope[] {
  return SCOPES.filter(
    (scope) =>
      (one.scopes.includes(scope) && hasScope(other, scope)) || (other.scopes.includes(scope) && hasScope(one, scope)),
  );
}

/**
 * Demands one of the scopes.
 * @param operation what needs it, as the message names it
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
