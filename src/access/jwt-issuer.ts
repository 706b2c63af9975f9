import { createPublicKey, createSecretKey, type KeyObject } from 'node:crypto';
import type { JwtIssuerOptions } from '../options/options.ts';
import type { Conditions } from '../otel/report/conditions.ts';
import type { Limits } from '../wire/allow.ts';
import { configurationError } from '../wire/errors.ts';
import { claimNames } from './jwt-claims.ts';
import type { Principal } from './principal.ts';
import { type KeyHeader, type PublishedKeysOptions, publishedKeys } from './published-keys.ts';
import { fits, isWeak, MIN_RSA_BITS } from './signature.ts';

export interface RemoteSurroundings extends Pick<PublishedKeysOptions, 'clock' | 'delay'> {
  readonly conditions: Pick<Conditions, 'watch'>;
}

export interface TrustedIssuer {
  readonly issuer: string;
  readonly audience: string[];
  readonly algorithms: string[];
  readonly scopeClaims: readonly string[];
  readonly tenantClaim: string;
  readonly tenantsClaim: string;
  readonly allowClaim: string;
  readonly limits?: Limits;
  /** Claim with the id of the API key that a token was issued for. Only in our own tokens. */
  readonly keyClaim?: string;
  key(header: KeyHeader): KeyObject | Promise<KeyObject>;
  /** Checks each use of a token, even if its verification is cached. @throws {RdcpError} `RDCP_AUTH_FAILED` if it was revoked */
  admit?(principal: Principal): Promise<Principal>;
  close?(): void;
}

/** A key for HS256 must be at least as long as the hash (RFC 7518, section 3.2). */
const MIN_SECRET_BYTES = 32;

/** @param own this server, if it issues tokens @throws {RdcpError} `RDCP_CONFIG_INVALID` without a secret */
export function trustIssuers(
  issuers: readonly JwtIssuerOptions[],
  remote: RemoteSurroundings,
  own?: TrustedIssuer,
): ReadonlyMap<string, TrustedIssuer> {
  const trusted = new Map(own && [[own.issuer, own]]);
  const fieldOf = (index: number) => (issuers.length === 1 ? 'security.jwt' : `security.jwt.${index}`);
  addIssuers(trusted, issuers, fieldOf, (issuer, field) => trust(issuer, field, remote));
  return trusted;
}

/** Adds issuers by name. If one of them cannot be used, those before it stop fetching their keys. */
export function addIssuers<Settings extends { readonly issuer: string }, Issuer extends { close?(): void }>(
  issuers: Map<string, Issuer>,
  settings: readonly Settings[],
  fieldOf: (index: number) => string,
  make: (settings: Settings, field: string) => Issuer,
): void {
  try {
    for (const [index, each] of settings.entries()) {
      const field = fieldOf(index);
      if (issuers.has(each.issuer)) throw configurationError(`${field}.issuer`, 'is used by an earlier issuer');
      issuers.set(each.issuer, make(each, field));
    }
  } catch (error) {
    for (const { close } of issuers.values()) close?.();
    throw error;
  }
}

function trust(issuer: JwtIssuerOptions, field: string, remote: RemoteSurroundings): TrustedIssuer {
  return {
    issuer: issuer.issuer,
    audience: typeof issuer.audience === 'string' ? [issuer.audience] : [...issuer.audience],
    algorithms: [...issuer.algorithms],
    ...claimNames(issuer),
    ...keysOf(issuer, field, remote),
  };
}

function keysOf(
  { secret, publicKey, jwksUri, algorithms }: JwtIssuerOptions,
  field: string,
  remote: RemoteSurroundings,
): Pick<TrustedIssuer, 'key' | 'close'> {
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
  const { fixed, find, close } = issuerKeys({ publicKey, jwksUri }, field, remote);
  const unsupported = fixed && algorithms.find((name) => !fits(fixed, name));
  if (unsupported !== undefined) throw configurationError(`${field}.publicKey`, `must be a key for ${unsupported}`);
  return { key: find, close };
}

/** The key of an issuer, or those that it publishes. @throws {RdcpError} `RDCP_CONFIG_INVALID` */
export function issuerKeys(
  { publicKey, jwksUri = '' }: Pick<JwtIssuerOptions, 'publicKey' | 'jwksUri'>,
  field: string,
  { conditions, clock, delay }: RemoteSurroundings,
) {
  if (publicKey !== undefined) {
    const key = readPublicKey(publicKey, `${field}.publicKey`);
    return { fixed: key, find: () => key, loaded: () => key, close: () => {} };
  }
  const source = { uri: jwksUri, field: `${field}.jwksUri`, clock, delay, condition: conditions.watch('jwks') };
  return { fixed: undefined, ...publishedKeys(source) };
}

export function secretKey(secret: string, field: string): KeyObject {
  const bytes = Buffer.from(secret, 'utf8');
  if (bytes.length < MIN_SECRET_BYTES) throw configurationError(field, `must hold at least ${MIN_SECRET_BYTES} bytes`);
  return createSecretKey(bytes);
}

function readPublicKey(pem: string, field: string): KeyObject {
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
