import { constants, createHmac, type KeyObject, sign, timingSafeEqual, verify } from 'node:crypto';
import type { JWSHeaderParameters } from 'jose';
import { isObject, parsedJson } from '../wire/json-text.ts';

export type Json = Readonly<Record<string, unknown>>;

/** Three base64url parts. An encrypted token has five; an unsigned one has an empty last part. */
const COMPACT = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;
/** Visible ASCII. A key id is only compared, never used in a path or query. */
const KEY_ID = /^[\x21-\x7e]{1,256}$/;
/**
 * Parameters that contain or reference a key (RFC 7515, sections 4.1.2 to 4.1.6), change how the token is parsed (`crit`,
 * `b64` of RFC 7797, `cty` of a nested token), or belong to encryption. Tokens of known issuers have none of them.
 */
const REFUSED_PARAMETERS = ['jku', 'jwk', 'x5u', 'x5c', 'crit', 'b64', 'cty', 'enc', 'zip'];

/** Returns the header of a JSON Web Signature in compact form, unverified; `undefined` for one that is never accepted. */
export function readHeader(token: string): JWSHeaderParameters | undefined {
  const header = COMPACT.test(token) ? jsonOf(token.split('.')[0]) : undefined;
  if (header === undefined || REFUSED_PARAMETERS.some((name) => Object.hasOwn(header, name))) return undefined;
  const { kid } = header;
  return kid === undefined || (typeof kid === 'string' && KEY_ID.test(kid)) ? header : undefined;
}

/** Returns the claims of a token of three parts, unverified, even if its header or its signature is not accepted. */
export function readClaims(token: string): Json | undefined {
  const parts = token.split('.');
  return parts.length === 3 ? jsonOf(parts[1]) : undefined;
}

function jsonOf(part = ''): Json | undefined {
  const value = parsedJson(Buffer.from(part, 'base64url').toString('utf8'));
  return isObject(value) ? value : undefined;
}

/** RFC 7518, section 3.1, and RFC 8037, section 3.1. The digest, and how the signature is made. */
const SCHEMES = {
  EdDSA: [null, {}],
  ES256: ['sha256', { dsaEncoding: 'ieee-p1363' }],
  PS256: ['sha256', { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }],
  RS256: ['sha256', {}],
} as const;

export type Algorithm = keyof typeof SCHEMES | 'HS256';

/** RFC 7518, section 3.3. */
export const MIN_RSA_BITS = 2048;

export function isAlgorithm(name: unknown): name is Algorithm {
  return name === 'HS256' || (typeof name === 'string' && Object.hasOwn(SCHEMES, name));
}

/** Whether the key is one for the algorithm: a public key is never used as the secret of HS256. */
export function fits(
  { type: kind, asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject,
  algorithm: Algorithm,
): boolean {
  if (algorithm === 'HS256') return kind === 'secret';
  if (algorithm === 'ES256') return type === 'ec' && details?.namedCurve === 'prime256v1';
  return algorithm === 'EdDSA' ? type === 'ed25519' : type === 'rsa';
}

export function isWeak({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): boolean {
  return type === 'rsa' && (details?.modulusLength ?? 0) < MIN_RSA_BITS;
}

export function signatureOf(text: string, key: KeyObject, algorithm: Algorithm): Buffer {
  if (algorithm === 'HS256') return createHmac('sha256', key).update(text).digest();
  const [digest, options] = SCHEMES[algorithm];
  return sign(digest, Buffer.from(text), { key, ...options });
}

/** @param key one that {@link fits} the algorithm */
export function isSignedBy(key: KeyObject, algorithm: Algorithm, text: string, signature: Buffer): boolean {
  if (algorithm === 'HS256') {
    const expected = signatureOf(text, key, algorithm);
    return signature.length === expected.length && timingSafeEqual(signature, expected);
  }
  const [digest, options] = SCHEMES[algorithm];
  return verify(digest, Buffer.from(text), { key, ...options }, signature);
}
