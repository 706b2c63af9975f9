import { isDeepStrictEqual } from 'node:util';
import { commonLimits, type Limits } from '../wire/allow.ts';
import { type AuthMethod, SCOPES, type Scope } from '../wire/constants.ts';
import { commonPatterns, matchesAny } from '../wire/names.ts';
import { missingScope } from './refusal.ts';

/** The authenticated identity. It comes from the credential alone, never from headers. */
export interface Principal extends Limits {
  readonly method: AuthMethod;
  readonly userId: string;
  /** The authenticated client. Rate limits and replays are per client, user and tenant. */
  readonly clientId?: string | undefined;
  readonly tenantId?: string | undefined;
  /** Tenants that a credential without a tenant may name, as ids and prefixes with `*`. It addresses nothing else. */
  readonly tenants?: readonly string[] | undefined;
  readonly scopes: readonly Scope[];
  readonly sessionId?: string | undefined;
  /** Milliseconds since the epoch; absent if the access does not expire. */
  readonly expiresAt?: number | undefined;
  /** Id of the API key's record, also for a token issued for the key. The access ends with the key. */
  readonly keyId?: string | undefined;
  /** SHA-256 of the certificate that a token is bound to, base64url (RFC 8705, `x5t#S256`). */
  readonly certificateThumbprint?: string | undefined;
}

/** Names an identity for rate limits and replays, without credentials. A key, its tokens and a certificate of the same user and client share one. */
export function identityKey({ tenantId = '', userId, clientId = userId }: Principal): string {
  return JSON.stringify([tenantId, clientId, userId]);
}

/** Whether a credential is for one tenant or some, and must not see what is of all. */
export function isOfTenants({ tenantId, tenants }: Principal): boolean {
  return tenantId !== undefined || tenants !== undefined;
}

/** Whether it has the same identity, tenants and `allow`, and one of the scopes; `admin` too, if it had that: more was shown to it. */
export function keepsRights(before: Principal, now: Principal | undefined, scopes: readonly Scope[]): boolean {
  if (now === undefined || identityKey(now) !== identityKey(before)) return false;
  const rights = ({ tenants, allow, approval }: Principal) => ({ tenants, allow, approval });
  const needed: readonly Scope[] = hasScope(before, 'admin') ? ['admin'] : scopes;
  return isDeepStrictEqual(rights(now), rights(before)) && needed.some((scope) => hasScope(now, scope));
}

/** Whether the principal has the scope, or `admin`, which implies all. */
export function hasScope(principal: Principal, scope: Scope): boolean {
  return principal.scopes.includes(scope) || principal.scopes.includes('admin');
}

/** Whether the principal may read lines, where the service lets anybody. */
export function mayTail(principal: Principal, tail: false | { readonly scope: Scope }): boolean {
  return tail !== false && (hasScope(principal, tail.scope) || hasScope(principal, 'tail'));
}

function commonScopes(one: Principal, other: Principal): Scope[] {
  return SCOPES.filter(
    (scope) =>
      (one.scopes.includes(scope) && hasScope(other, scope)) || (other.scopes.includes(scope) && hasScope(one, scope)),
  );
}

/** Scopes, limits and expiry that another one has too; user and tenant stay. @returns `undefined` if nothing is left */
export function narrowed(principal: Principal, by: Principal): Principal | undefined {
  const { tenantId } = principal;
  if (tenantId !== undefined && by.tenants !== undefined && !matchesAny(by.tenants, tenantId)) return undefined;
  const [one, other] = tenantId === undefined ? [principal.tenants, by.tenants] : [];
  const tenants = one === undefined || other === undefined ? (one ?? other) : commonPatterns(one, other);
  const limits = commonLimits(principal, by);
  if (tenants?.length === 0 || limits === undefined) return undefined;
  const ends = [principal.expiresAt, by.expiresAt].filter((end) => end !== undefined);
  return {
    ...principal,
    ...limits,
    scopes: commonScopes(principal, by),
    ...(tenants !== undefined && { tenants }),
    ...(ends.length > 0 && { expiresAt: Math.min(...ends) }),
  };
}

/** Requires one of the scopes. @throws {RdcpError} `RDCP_FORBIDDEN` with `details.reason` `insufficient_scopes` */
export function assertScope(principal: Principal, scopes: readonly Scope[], operation = 'This operation'): void {
  if (scopes.some((scope) => hasScope(principal, scope))) return;
  throw missingScope(principal, scopes, operation);
}
