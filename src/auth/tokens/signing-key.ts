import { createPrivateKey, createPublicKey, hash, type JsonWebKey, type KeyObject } from 'node:crypto';
import type { JWK } from 'jose';
import { RdcpError } from '../../errors.ts';
import { MIN_RSA_BITS } from '../jwt-issuer.ts';

/** One key that this server signs with, or has signed with. */
export interface SigningKey {
  /** RFC 7638 thumbprint: every process that has the key gives it the same id. */
  readonly id: string;
  readonly algorithm: 'RS256' | 'ES256' | 'EdDSA';
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  /** The public half as it is published. */
  readonly jwk: JWK;
}

export const SIGNING_ALGORITHMS = ['RS256', 'ES256', 'EdDSA'];

const PEM = /-----BEGIN ((?:[A-Z]+ )*)PRIVATE KEY-----[^-]+-----END \1PRIVATE KEY-----/g;

/**
 * The private keys in a text: PEM blocks, or a JWK Set (RFC 7517). The first one signs; the others are there for the tokens
 * that they have signed, or will.
 * @param name what to call the file in the message
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` in one line, which shows nothing of a key
 */
export function parseSigningKeys(text: string, name: string): SigningKey[] {
  const keys = privateKeys(text, name).map((key, index) => signingKey(key, `${name}: key ${index + 1}`));
  if (keys.length === 0) throw invalid(name, 'holds no private key: PEM or a JWK Set is needed');
  if (new Set(keys.map(({ id }) => id)).size < keys.length) throw invalid(name, 'holds a key twice');
  return keys;
}

function privateKeys(text: string, name: string): KeyObject[] {
  try {
    if (!text.trimStart().startsWith('{')) return (text.match(PEM) ?? []).map((block) => createPrivateKey(block));
    const { keys } = JSON.parse(text) as { keys?: unknown };
    return Array.isArray(keys) ? keys.map((key: JsonWebKey) => createPrivateKey({ key, format: 'jwk' })) : [];
  } catch {
    // The parser's own message may show a part of the file.
    throw invalid(name, 'holds something that is no unencrypted private key');
  }
}

function signingKey(privateKey: KeyObject, name: string): SigningKey {
  const publicKey = createPublicKey(privateKey);
  const algorithm = algorithmOf(privateKey);
  if (algorithm === undefined) throw invalid(name, 'must be RSA, P-256 or Ed25519');
  if (algorithm === 'RS256' && (privateKey.asymmetricKeyDetails?.modulusLength ?? 0) < MIN_RSA_BITS) {
    throw invalid(name, `must have at least ${MIN_RSA_BITS} bits`);
  }
  const jwk = publicKey.export({ format: 'jwk' });
  const id = thumbprint(jwk);
  return { id, algorithm, privateKey, publicKey, jwk: { ...(jwk as JWK), kid: id, alg: algorithm, use: 'sig' } };
}

function algorithmOf({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject) {
  if (type === 'rsa') return 'RS256';
  if (type === 'ed25519') return 'EdDSA';
  return type === 'ec' && details?.namedCurve === 'prime256v1' ? 'ES256' : undefined;
}

/** RFC 7638: the required members, in order. An exported public key has no others but `kty`-specific ones. */
function thumbprint(jwk: JsonWebKey): string {
  return hash('sha256', JSON.stringify(jwk, ['crv', 'e', 'kty', 'n', 'x', 'y']), 'base64url');
}

function invalid(name: string, problem: string): RdcpError {
  const field = 'security.tokens.signingKeyFile';
  return new RdcpError('RDCP_CONFIG_INVALID', `${name} ${problem}`, { details: { field } });
}
