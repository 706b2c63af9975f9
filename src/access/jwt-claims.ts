import type { CredentialClaims } from '../options/options.ts';
import { allowSchema, commonLimits, type Limits, limitsOf } from '../wire/allow.ts';
import { SCOPES, type Scope, TENANT_PATTERN } from '../wire/constants.ts';
import { given } from '../wire/json-text.ts';
import { isIdentifier, PRINTABLE_NAME } from '../wire/names.ts';
import type { TrustedIssuer } from './jwt-issuer.ts';
import type { Principal } from './principal.ts';

export const TENANT_CLAIM = 'tenant_id';
/** Claim with the tenants that a token of this package may name. */
export const TENANTS_CLAIM = 'otelrdcp_tenants';
export const ALLOW_CLAIM = 'otelrdcp_allow';
export const APPROVAL_CLAIM = 'otelrdcp_approval';
export const KEY_CLAIM = 'otelrdcp_key';
/** Tolerated clock skew between the issuer and this server, in seconds. */
export const CLOCK_TOLERANCE_SECONDS = 60;
/** 31 December 9999, the latest instant of a Timestamp. */
const LATEST_SECONDS = 253_402_300_799;
/** SHA-256 in base64url. */
const THUMBPRINT = /^[A-Za-z0-9_-]{43}$/;
/**
 * Claims that only OpenID Connect ID tokens have (Core 1.0, sections 2 and 3.3.2.11). An ID token grants nothing, but its
 * issuer, signature and often audience are the same as an access token's.
 */
const ID_TOKEN_CLAIMS = ['nonce', 'at_hash', 'c_hash', 's_hash'];

type Claims = Readonly<Record<string, unknown>>;

export type ClaimNames = Pick<
  TrustedIssuer,
  'scopeClaims' | 'tenantClaim' | 'tenantsClaim' | 'allowClaim' | 'keyClaim' | 'limits'
>;

export function claimNames(configured: CredentialClaims) {
  const { scopeClaim, tenantClaim = TENANT_CLAIM, tenantsClaim = TENANTS_CLAIM, allowClaim = ALLOW_CLAIM } = configured;
  const scopeClaims = scopeClaim === undefined ? ['scope', 'scopes'] : [scopeClaim];
  return { scopeClaims, tenantClaim, tenantsClaim, allowClaim, limits: limitsOf(configured) };
}

/** The signature, issuer, audience, `exp` and `nbf` of the claims are verified. @throws {Error} for invalid claims */
export function principalOf(claims: Claims, names: ClaimNames, nowMs: number): Principal {
  assertNotIdToken(claims);
  const { sub, exp, iat } = claims;
  if (typeof sub !== 'string' || !PRINTABLE_NAME.test(sub)) throw new Error('the subject is malformed');
  if (exp !== undefined && !(typeof exp === 'number' && exp >= 0 && exp <= LATEST_SECONDS))
    throw new Error('the expiry is out of range');
  if (iat !== undefined && !(typeof iat === 'number' && iat <= nowMs / 1000 + CLOCK_TOLERANCE_SECONDS)) {
    throw new Error('issued in the future');
  }
  const clientId = firstName(claims, ['client_id', 'azp'], isIdentifier);
  const sessionId = firstName(claims, ['sid', 'jti'], (name) => PRINTABLE_NAME.test(name));
  const tenantId = tenantOf(claims[names.tenantClaim]);
  const tenants = tenantsOf(claims[names.tenantsClaim]);
  if (tenantId !== undefined && tenants !== undefined) throw new Error('the token has a tenant and several tenants');
  const limits = commonLimits(limitsIn(claims, names.allowClaim), names.limits ?? {});
  if (limits === undefined) throw new Error('the token allows nothing that its issuer may allow');
  const keyId = names.keyClaim === undefined ? undefined : firstName(claims, [names.keyClaim], isIdentifier);
  const certificateThumbprint = thumbprintOf(claims);
  return {
    method: 'bearer',
    userId: sub,
    scopes: scopesOf(claims, names.scopeClaims),
    ...limits,
    ...given({ clientId, tenantId, tenants, sessionId, expiresAt: exp && exp * 1000, keyId, certificateThumbprint }),
  };
}

export function isFor(aud: unknown, audiences: string | readonly string[]): boolean {
  const named: readonly unknown[] = [aud].flat();
  return [audiences].flat().some((each) => named.includes(each));
}

function assertNotIdToken(claims: Claims): void {
  const found = ID_TOKEN_CLAIMS.find((name) => Object.hasOwn(claims, name));
  if (found !== undefined) throw new Error('not an access token but an ID token');
}

/** RFC 8705, section 3.1. Tokens bound to other keys (RFC 7800) are refused: requests do not prove possession of those. */
function thumbprintOf({ cnf }: Claims): string | undefined {
  if (cnf === undefined) return undefined;
  const binding: [string, unknown][] = typeof cnf === 'object' && cnf !== null ? Object.entries(cnf) : [];
  const [name, thumbprint] = binding.length === 1 ? binding[0]! : [];
  if (name === 'x5t#S256' && typeof thumbprint === 'string' && THUMBPRINT.test(thumbprint)) return thumbprint;
  throw new Error('the token is bound to a key');
}

/** Rejects a malformed tenant: ignoring it would grant access to all tenants. */
function tenantOf(claim: unknown): string | undefined {
  if (claim === undefined) return undefined;
  if (typeof claim === 'string' && isIdentifier(claim)) return claim;
  throw new Error('the tenant is malformed');
}

/** Rejects a malformed list: ignoring it would grant access to what all tenants share. */
function tenantsOf(claim: unknown): readonly string[] | undefined {
  if (claim === undefined) return undefined;
  const isPattern = (entry: unknown) => typeof entry === 'string' && TENANT_PATTERN.test(entry);
  if (Array.isArray(claim) && claim.length > 0 && claim.every(isPattern)) return claim;
  throw new Error('the list of tenants is malformed');
}

/** Rejects malformed limits: ignoring them would grant what the token does not allow. */
function limitsIn(claims: Claims, allowClaim: string): Limits {
  const approval = claims[APPROVAL_CLAIM] === true;
  const claim = claims[allowClaim];
  if (claim === undefined) return {};
  const result = allowSchema.safeParse(claim);
  if (!result.success) throw new Error(`the claim ${allowClaim} is malformed`);
  return { allow: result.data, approval };
}

function scopesOf(claims: Claims, names: readonly string[]): Scope[] {
  const name = names.find((each) => claims[each] !== undefined);
  const claim = name === undefined ? [] : claims[name];
  const granted = typeof claim === 'string' ? claim.split(' ') : claim;
  if (!Array.isArray(granted) || granted.some((scope) => typeof scope !== 'string')) {
    throw new Error('the scopes are malformed');
  }
  return SCOPES.filter((scope) => granted.includes(scope));
}

function firstName(claims: Claims, names: readonly string[], isUsable: (name: string) => boolean): string | undefined {
  return names
    .map((name) => claims[name])
    .find((value): value is string => typeof value === 'string' && isUsable(value));
}
