import { createPublicKey, createSecretKey, type KeyObject } from 'node:crypto';
import type { CryptoKey, JWSHeaderParameters } from 'jose';
import type { JwtIssuerOptions } from '../options/options.ts';
import type { Conditions } from '../otel/report/conditions.ts';
import { type Limits, limitsOf } from '../wire/allow.ts';
import { configurationError } from '../wire/errors.ts';
import { trustedUri } from '../wire/net/trusted-uri.ts';
import { createRemoteKeys, type RemoteKeysOptions } from './jwks.ts';
import { ALLOW_CLAIM, TENANTS_CLAIM } from './jwt-claims.ts';
import type { Principal } from './principal.ts';

/** Dependencies for issuers that publish their keys. */
export interface RemoteSurroundings extends Pick<RemoteKeysOptions, 'clock' | 'delay'> {
  readonly conditions: Pick<Conditions, 'watch'>;
}

/** A validated issuer. */
export interface TrustedIssuer {
  readonly issuer: string;
  readonly audience: string[];
  readonly algorithms: string[];
  readonly scopeClaims: readonly string[];
  readonly tenantClaim: string;
  /** Claim with the tenants that a token may name. */
  readonly tenantsClaim: string;
  /** Claim with what a token may do with which categories. */
  readonly allowClaim: string;
  /** Limits of every token of the issuer. @default none */
  readonly limits?: Limits;
  /** Claim with the id of the API key that a token was issued for. Only in our own tokens. */
  readonly keyClaim?: string;
  /** Returns the key of a token with this header. */
  key(header: JWSHeaderParameters): KeyObject | Promise<KeyObject | CryptoKey>;
  /**
   * Checks each use of a token, even if its verification is cached.
   * @throws {RdcpError} `RDCP_AUTH_FAILED` for a revoked token
   */
  admit?(principal: Principal): Promise<Principal>;
  /** Fetches published keys, to detect an outage before the first token. */
  check?(): Promise<void>;
  close?(): void;
}

/** A key for HS256 must be at least as long as the hash (RFC 7518, section 3.2). */
const MIN_SECRET_BYTES = 32;
/** RFC 7518, section 3.3. */
export const MIN_RSA_BITS = 2048;

/**
 * Validates the configured issuers. Returns them by name.
 * @param own this server, if it issues tokens
 * @throws {RdcpError} `RDCP_CONFIG_INVALID`. The message names the field and contains no secret
 */
export function trustIssuers(
  issuers: readonly JwtIssuerOptions[],
  remote: RemoteSurroundings,
  own?: TrustedIssuer,
): ReadonlyMap<string, TrustedIssuer> {
  const trusted = new Map<string, TrustedIssuer>();
  if (own !== undefined) trusted.set(own.issuer, own);
  for (const [index, issuer] of issuers.entries()) {
    const field = issuers.length === 1 ? 'security.jwt' : `security.jwt.${index}`;
    if (trusted.has(issuer.issuer)) throw configurationError(`${field}.issuer`, 'is used by an earlier issuer');
    trusted.set(issuer.issuer, trust(issuer, field, remote));
  }
  return trusted;
}

function trust(issuer: JwtIssuerOptions, field: string, remote: RemoteSurroundings): TrustedIssuer {
  return {
    issuer: issuer.issuer,
    audience: typeof issuer.audience === 'string' ? [issuer.audience] : [...issuer.audience],
    algorithms: [...issuer.algorithms],
    scopeClaims: issuer.scopeClaim === undefined ? ['scope', 'scopes'] : [issuer.scopeClaim],
    tenantClaim: issuer.tenantClaim ?? 'tenant_id',
    tenantsClaim: issuer.tenantsClaim ?? TENANTS_CLAIM,
    allowClaim: issuer.allowClaim ?? ALLOW_CLAIM,
    limits: limitsOf(issuer),
    ...keysOf(issuer, field, remote),
  };
}

function keysOf(
  { secret, publicKey, jwksUri, algorithms }: JwtIssuerOptions,
  field: string,
  remote: RemoteSurroundings,
): Pick<TrustedIssuer, 'key' | 'check' | 'close'> {
  const sources = [secret, publicKey, jwksUri].filter((source) => source !== undefined);
  if (sources.length !== 1) throw configurationError(field, 'must hold one of secret, publicKey and jwksUri');
  // An issuer that took both kinds would accept a token signed with its own public key as the shared secret.
  const wrong = algorithms.find((name) => (name === 'HS256') !== (secret !== undefined));
  if (wrong !== undefined)
    throw configurationError(`${field}.algorithms`, `must not hold ${wrong} with this kind of key`);
  if (secret !== undefined) {
    const key = secretKey(secret, `${field}.secret`);
    return { key: () => key };
  }
  if (publicKey !== undefined) {
    const key = publicKeyOf(publicKey, algorithms, `${field}.publicKey`);
    return { key: () => key };
  }
  const { conditions, ...surroundings } = remote;
  const setting = `${field}.jwksUri`;
  const uri = trustedUri(jwksUri ?? '', setting);
  const keys = createRemoteKeys({ ...surroundings, uri, field: setting, condition: conditions.watch('jwks') });
  return { key: keys.find, check: keys.check, close: keys.close };
}

/** @throws {RdcpError} `RDCP_CONFIG_INVALID` if it is too short for HS256 */
export function secretKey(secret: string, field: string): KeyObject {
  const bytes = Buffer.from(secret, 'utf8');
  if (bytes.length < MIN_SECRET_BYTES) throw configurationError(field, `must hold at least ${MIN_SECRET_BYTES} bytes`);
  return createSecretKey(bytes);
}

function publicKeyOf(
  pem: string,
  algorithms: readonly JwtIssuerOptions['algorithms'][number][],
  field: string,
): KeyObject {
  const key = readPublicKey(pem, field);
  const unsupported = algorithms.find((name) => !isKeyFor(key, name));
  if (unsupported !== undefined) throw configurationError(field, `must be a key for ${unsupported}`);
  return key;
}

/** @throws {RdcpError} `RDCP_CONFIG_INVALID` unless it is a public key, or a certificate, in PEM form */
export function readPublicKey(pem: string, field: string): KeyObject {
  if (pem.includes('PRIVATE KEY')) throw configurationError(field, 'must be a public key, not a private one');
  const key = readPem(pem, field);
  if (isWeak(key)) throw configurationError(field, `must have at least ${MIN_RSA_BITS} bits`);
  return key;
}

function readPem(pem: string, field: string): KeyObject {
  try {
    return createPublicKey(pem);
  } catch (cause) {
    throw configurationError(field, 'must be a public key or certificate in PEM form', cause);
  }
}

export function isWeak({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): boolean {
  return type === 'rsa' && (details?.modulusLength ?? 0) < MIN_RSA_BITS;
}

/** Whether a public key verifies signatures of the algorithm. No key does for HS256. */
export function isKeyFor(
  { asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject,
  algorithm: JwtIssuerOptions['algorithms'][number],
): boolean {
  if (algorithm === 'HS256') return false;
  if (algorithm === 'ES256') return type === 'ec' && details?.namedCurve === 'prime256v1';
  return algorithm === 'EdDSA' ? type === 'ed25519' : type === 'rsa';
}
