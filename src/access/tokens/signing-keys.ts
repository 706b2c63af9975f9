import { createPrivateKey, createPublicKey, hash, type JsonWebKey, type KeyObject } from 'node:crypto';
import { basename } from 'node:path';
import type { JWK } from 'jose';
import type { TokenOptions } from '../../options/options.ts';
import type { Condition } from '../../otel/report/conditions.ts';
import { invalidSetting } from '../../wire/errors.ts';
import type { Clock } from '../../wire/time/clock.ts';
import { isWeak, MIN_RSA_BITS } from '../jws.ts';
import { CLOCK_TOLERANCE_SECONDS } from '../jwt-claims.ts';
import { type KeyHeader, secretKey } from '../jwt-issuer.ts';
import { watchFile } from '../watched-file.ts';

export interface SigningKeys {
  readonly algorithms: readonly string[];
  current(): { readonly key: KeyObject; readonly header: { readonly alg: string; readonly kid?: string } };
  verification(header: KeyHeader): KeyObject | Promise<KeyObject>;
  /** Returns the key that verifies a token, unless the file has it only since it was last read. */
  find(header: KeyHeader): KeyObject | undefined;
  /** Returns the public keys, including replaced ones whose tokens may still be valid. Absent with a shared secret. */
  published?(): readonly JWK[];
  close(): void;
}

interface SigningKeysOptions {
  readonly tokenSeconds: number;
  readonly clock: Pick<Clock, 'now'>;
  readonly condition?: Condition | undefined;
}

export function openSigningKeys(
  { signingKeyFile, secret = '' }: Pick<TokenOptions, 'signingKeyFile' | 'secret'>,
  options: SigningKeysOptions,
): SigningKeys {
  return signingKeyFile === undefined ? sharedSecret(secret) : keyFile(signingKeyFile, options);
}

function sharedSecret(secret: string): SigningKeys {
  const key = secretKey(secret, 'security.tokens.secret');
  return {
    algorithms: ['HS256'],
    current: () => ({ key, header: { alg: 'HS256' } }),
    verification: () => key,
    find: () => key,
    close: () => {},
  };
}

function keyFile(path: string, { tokenSeconds, clock, condition }: SigningKeysOptions): SigningKeys {
  const name = `signing key file ${basename(path)}`;
  const file = watchFile(path, { name, load: (text) => parseSigningKeys(text, name), condition });
  const lifeMs = (tokenSeconds + CLOCK_TOLERANCE_SECONDS) * 1000;
  let seen: readonly SigningKey[] = file.value;
  /** Keys that were removed from the file, with the latest expiry of their tokens. */
  const replaced = new Map<SigningKey, number>();

  function currentKeys(): readonly SigningKey[] {
    const now = clock.now();
    if (seen !== file.value) {
      const ids = new Set(file.value.map(({ id }) => id));
      for (const key of seen) if (!ids.has(key.id)) replaced.set(key, now + lifeMs);
      seen = file.value;
    }
    for (const [key, until] of replaced) if (until <= now) replaced.delete(key);
    return [...seen, ...replaced.keys()];
  }

  function find({ kid, alg }: KeyHeader): KeyObject | undefined {
    return currentKeys().find(({ id, algorithm }) => id === kid && algorithm === alg)?.publicKey;
  }

  async function findAfterReload(header: KeyHeader): Promise<KeyObject> {
    // Another process may already sign with a key of the new file.
    await file.refresh();
    const key = find(header);
    if (key === undefined) throw new Error('unknown signing key');
    return key;
  }

  return {
    algorithms: SIGNING_ALGORITHMS,
    current: () => {
      const { id, algorithm, privateKey } = currentKeys()[0] as SigningKey;
      return { key: privateKey, header: { alg: algorithm, kid: id } };
    },
    verification: (header) => find(header) ?? findAfterReload(header),
    find,
    published: () => currentKeys().map(({ jwk }) => jwk),
    close: () => file.close(),
  };
}

interface SigningKey {
  /** RFC 7638 thumbprint: the same in every process. */
  readonly id: string;
  readonly algorithm: 'RS256' | 'ES256' | 'EdDSA';
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  readonly jwk: JWK;
}

const SIGNING_ALGORITHMS = ['RS256', 'ES256', 'EdDSA'];

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
