import { timingSafeEqual } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { hashApiKey, MAX_API_KEY_LENGTH } from './api-key.ts';
import type { CredentialVerifier } from './authenticators.ts';
import { byConnection } from './by-connection.ts';
import { isInForce, type KeySource, type StoredKey } from './key-set.ts';
import type { Principal } from './principal.ts';
import { refusal } from './refusal.ts';

export interface ApiKeyVerifierOptions {
  readonly keys: KeySource;
  readonly clock: Clock;
}

export interface ApiKeyVerifier extends CredentialVerifier {
  /** Whether a text is one of the keys, valid now or not. */
  knows(key: string): boolean;
  /** Returns the principal of a key record while the key is valid. */
  principal(id: string): Principal | undefined;
}

/** The hash of a presented key, as text and as bytes. */
interface Hashed {
  readonly hash: string;
  readonly digest: Buffer;
}

/**
 * Verifies API keys. Several keys can be valid at once, so that clients can rotate them. Wrong, unknown, mistyped, expired
 * and not yet valid keys get the same response.
 */
export function createApiKeyVerifier({ keys, clock }: ApiKeyVerifierOptions): ApiKeyVerifier {
  const hashed = byConnection((text): Hashed => {
    const hash = hashApiKey(text);
    return { hash, digest: Buffer.from(hash.slice('sha256:'.length), 'hex') };
  });

  return {
    knows: (key) => key.length <= MAX_API_KEY_LENGTH && lookUp(keys, hashed(key)) !== undefined,
    principal: (id) => {
      const stored = keys.findById(id);
      return stored !== undefined && isInForce(stored, clock.now()) ? stored.principal : undefined;
    },
    verify: (key, connection) => {
      const stored = key.length > MAX_API_KEY_LENGTH ? undefined : lookUp(keys, hashed(key, connection));
      if (stored === undefined || !isInForce(stored, clock.now())) throw refusal('api-key');
      return stored.principal;
    },
    close: () => keys.close(),
  };
}

/**
 * Finds a key by its hash and compares in constant time. The lookup's timing may leak bits of a hash, which does not help an
 * attacker: producing a key with a chosen hash is as hard as guessing the key.
 */
function lookUp(keys: KeySource, { hash, digest }: Hashed): StoredKey | undefined {
  const stored = keys.find(hash);
  if (stored === undefined) return undefined;
  return timingSafeEqual(digest, stored.digest) ? stored : undefined;
}
