import { SCOPES, type Scope } from '../protocol/constants.ts';
import { isIdentifier, PRINTABLE_NAME } from '../protocol/names.ts';
import type { TrustedIssuer } from './jwt-issuer.ts';
import type { Principal } from './principal.ts';

/** Clock difference between issuer and us that is tolerated, in seconds. */
export const CLOCK_TOLERANCE_SECONDS = 60;
/** 31 December 9999: later instants have no Timestamp. */
const LATEST_SECONDS = 253_402_300_799;
/** SHA-256 in base64url. */
const THUMBPRINT = /^[A-Za-z0-9_-]{43}$/;
/**
 * Claims of OpenID Connect ID tokens (Core 1.0, sections 2 and 3.3.2.11). An ID token tells a client who signed in and
 * grants nothing, but it has the issuer, the signature, and often an audience, that an access token has too.
 */
const ID_TOKEN_CLAIMS = ['nonce', 'at_hash', 'c_hash', 's_hash'];

type Claims = Readonly<Record<string, unknown>>;

/** Where an issuer puts what we need. */
export type ClaimNames = Pick<TrustedIssuer, 'scopeClaims' | 'tenantClaim' | 'keyClaim'>;

/**
 * Who a token speaks for, once the token itself, its issuer, audience, `exp` and `nbf` were verified.
 * @throws {Error} for claims that no access token of ours has
 */
export function principalOf(claims: Claims, names: ClaimNames, nowMs: number): Principal {
  refuseIdToken(claims);
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
  const keyId = names.keyClaim === undefined ? undefined : firstName(claims, [names.keyClaim], isIdentifier);
  const certificateThumbprint = boundTo(claims);
  return {
    method: 'bearer',
    userId: sub,
    ...(clientId === undefined ? {} : { clientId }),
    ...(tenantId === undefined ? {} : { tenantId }),
    scopes: scopesOf(claims, names.scopeClaims),
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(exp === undefined ? {} : { expiresAt: exp * 1000 }),
    ...(keyId === undefined ? {} : { keyId }),
    ...(certificateThumbprint === undefined ? {} : { certificateThumbprint }),
  };
}

function refuseIdToken(claims: Claims): void {
  const foreign = ID_TOKEN_CLAIMS.find((name) => Object.hasOwn(claims, name));
  if (foreign !== undefined) throw new Error('an ID token is no access token');
}

/**
 * The certificate that the token is worth nothing without (RFC 8705, section 3.1). Other bindings (RFC 7800) are to keys
 * that a request does not show.
 */
function boundTo({ cnf }: Claims): string | undefined {
  if (cnf === undefined) return undefined;
  const binding: [string, unknown][] = typeof cnf === 'object' && cnf !== null ? Object.entries(cnf) : [];
  const [name, thumbprint] = binding.length === 1 ? (binding[0] ?? []) : [];
  if (name === 'x5t#S256' && typeof thumbprint === 'string' && THUMBPRINT.test(thumbprint)) return thumbprint;
  throw new Error('the token is bound to a key');
}

/** A tenant that is named but malformed must not become no tenant at all, which sees more. */
function tenantOf(claim: unknown): string | undefined {
  if (claim === undefined) return undefined;
  if (typeof claim === 'string' && isIdentifier(claim)) return claim;
  throw new Error('the tenant is malformed');
}

/** Only our own scopes count; the issuer may have others. */
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
