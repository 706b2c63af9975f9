import { createPrivateKey, createPublicKey, hash, type JsonWebKey, type KeyObject } from 'node:crypto';
import type { JWK } from 'jose';
import { invalidSetting } from '../../wire/errors.ts';
import { isWeak, MIN_RSA_BITS } from '../signature.ts';

export interface SigningKey {
  /** RFC 7638 thumbprint: the same in every process. */
  readonly id: string;
  readonly algorithm: 'RS256' | 'ES256' | 'EdDSA';
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  readonly jwk: JWK;
}

export const SIGNING_ALGORITHMS = ['RS256', 'ES256', 'EdDSA'];

const PEM = /-----BEGIN ((?:[A-Z]+ )*)PRIVATE KEY-----[^-]+-----END \1PRIVATE KEY-----/g;

/** PEM blocks, or a JWK Set (RFC 7517). The first key signs. @throws {RdcpError} `RDCP_CONFIG_INVALID` without anything of a key */
export function parseSigningKeys(text: string, name: string): SigningKey[] {
  const keys = privateKeys(text, name).map((key, index) => signingKey(key, `${name}: key ${index + 1}`));
  if (keys.length === 0) throw invalid(name, 'must hold at least one private key, as PEM or a JWK Set');
  if (new Set(keys.map(({ id }) => id)).size < keys.length) throw invalid(name, 'must not hold a key twice');
  return keys;
}

function privateKeys(text: string, name: string): KeyObject[] {
  try {
    if (!text.trimStart().startsWith('{')) return (text.match(PEM) ?? []).map((block) => createPrivateKey(block));
    const { keys } = JSON.parse(text) as { keys?: unknown };
    return Array.isArray(keys) ? keys.map((key: JsonWebKey) => createPrivateKey({ key, format: 'jwk' })) : [];
  } catch {
    // The parser's own message may quote the file.
    throw invalid(name, 'must hold only unencrypted private keys, as PEM or a JWK Set');
  }
}

function signingKey(privateKey: KeyObject, name: string): SigningKey {
  const publicKey = createPublicKey(privateKey);
  const algorithm = algorithmOf(privateKey);
  if (algorithm === undefined) throw invalid(name, 'must be RSA, P-256 or Ed25519');
  if (isWeak(privateKey)) throw invalid(name, `must have at least ${MIN_RSA_BITS} bits`);
  const jwk = publicKey.export({ format: 'jwk' });
  const id = thumbprint(jwk);
  return { id, algorithm, privateKey, publicKey, jwk: { ...(jwk as JWK), kid: id, alg: algorithm, use: 'sig' } };
}

function algorithmOf({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject) {
  if (type === 'rsa') return 'RS256';
  if (type === 'ed25519') return 'EdDSA';
  return type === 'ec' && details?.namedCurve === 'prime256v1' ? 'ES256' : undefined;
}

/** RFC 7638: the required members, in order. */
function thumbprint(jwk: JsonWebKey): string {
  return hash('sha256', JSON.stringify(jwk, ['crv', 'e', 'kty', 'n', 'x', 'y']), 'base64url');
}

function invalid(name: string, problem: string) {
  return invalidSetting('security.tokens.signingKeyFile', `${name} ${problem}`);
}
