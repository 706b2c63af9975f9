import type { KeyObject } from 'node:crypto';
import { basename } from 'node:path';
import type { JWK } from 'jose';
import type { TokenOptions } from '../../options/options.ts';
import type { Condition } from '../../otel/report/conditions.ts';
import type { Clock } from '../../wire/time/clock.ts';
import { CLOCK_TOLERANCE_SECONDS } from '../jwt-claims.ts';
import { secretKey } from '../jwt-issuer.ts';
import type { KeyHeader } from '../published-keys.ts';
import { watchFile } from '../watched-file.ts';
import { parseSigningKeys, SIGNING_ALGORITHMS, type SigningKey } from './signing-key.ts';

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

export interface SigningKeysOptions {
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
