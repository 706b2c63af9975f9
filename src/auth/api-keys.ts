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
  /** Whether a text is one of the keys, in force or not. */
  knows(key: string): boolean;
  /** Who the key of a record is, while it is in force. */
  principal(id: string): Principal | undefined;
}

/** The hash of a text that may be a key, as in a record and as bytes. */
interface Hashed {
  readonly hash: string;
  readonly digest: Buffer;
}

/**
 * Verifies API keys. Any number of keys is active at once, so that a client changes to a new one before the old one is
 * revoked. A wrong, unknown, mistyped, expired or not yet valid key gets the same answer.
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
 * The look-up's own timing tells something of a hash, which nobody can aim: to choose its first bits takes as many keys
 * as guessing. The comparison that decides takes the same time whatever it finds.
 */
function lookUp(keys: KeySource, { hash, digest }: Hashed): StoredKey | undefined {
  const stored = keys.find(hash);
  if (stored === undefined) return undefined;
  return timingSafeEqual(digest, stored.digest) ? stored : undefined;
}
