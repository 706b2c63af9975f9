import { constants, createHmac, type KeyObject, sign, timingSafeEqual, verify } from 'node:crypto';

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
