import type { KeyObject } from 'node:crypto';
import { basename } from 'node:path';
import type { JWK, JWSHeaderParameters } from 'jose';
import type { Clock } from '../../clock.ts';
import type { Condition } from '../../conditions.ts';
import { RdcpError } from '../../errors.ts';
import { CLOCK_TOLERANCE_SECONDS } from '../jwt-claims.ts';
import { secretKey } from '../jwt-issuer.ts';
import { watchFile } from '../watched-file.ts';
import { parseSigningKeys, SIGNING_ALGORITHMS, type SigningKey } from './signing-key.ts';

/** What tokens are signed with. Exactly one of the two is given. */
export interface SigningKeySettings {
  /** File of private keys, PEM or a JWK Set; the first signs. Read again when it changes. */
  readonly signingKeyFile?: string | undefined;
  /** Shared secret for HS256, at least 32 bytes in UTF-8. */
  readonly secret?: string | undefined;
}

export interface SigningKeys {
  /** Signature algorithms of these keys. */
  readonly algorithms: readonly string[];
  /** What the next token is signed with. */
  current(): { readonly key: KeyObject; readonly header: { readonly alg: string; readonly kid?: string } };
  /**
   * The key that a token of ours was signed with.
   * @throws {Error} when its header names none of them
   */
  verification(header: JWSHeaderParameters): KeyObject | Promise<KeyObject>;
  /** The public halves, of keys that were replaced too while tokens of theirs may live; absent with a shared secret. */
  published?(): readonly JWK[];
  close(): void;
}

export interface SigningKeysOptions {
  /** Life of the tokens that are signed. */
  readonly tokenSeconds: number;
  readonly clock: Pick<Clock, 'now'>;
  /** Holds while the file cannot be used; the last good keys stay in force. */
  readonly condition?: Condition | undefined;
}

/** @throws {RdcpError} `RDCP_CONFIG_INVALID` when there is not exactly one source of keys, or it is wrong */
export function openSigningKeys(
  { signingKeyFile, secret }: SigningKeySettings,
  options: SigningKeysOptions,
): SigningKeys {
  if (secret !== undefined && signingKeyFile === undefined) return sharedSecret(secret);
  if (signingKeyFile !== undefined && secret === undefined) return keyFile(signingKeyFile, options);
  throw new RdcpError(
    'RDCP_CONFIG_INVALID',
    'configuration: security.tokens must hold one of signingKeyFile and secret',
    {
      details: { field: 'security.tokens' },
    },
  );
}

function sharedSecret(secret: string): SigningKeys {
  const key = secretKey(secret, 'security.tokens.secret');
  return {
    algorithms: ['HS256'],
    current: () => ({ key, header: { alg: 'HS256' } }),
    verification: () => key,
    close: () => {},
  };
}

function keyFile(path: string, { tokenSeconds, clock, condition }: SigningKeysOptions): SigningKeys {
  const name = `signing key file ${basename(path)}`;
  const file = watchFile(path, { name, load: (text) => parseSigningKeys(text, name), condition });
  const lifeMs = (tokenSeconds + CLOCK_TOLERANCE_SECONDS) * 1000;
  let seen: readonly SigningKey[] = file.value;
  /** Keys that are no longer in the file, and when the last token that one of them signed is over. */
  const replaced = new Map<SigningKey, number>();

  function inForce(): readonly SigningKey[] {
    const now = clock.now();
    if (seen !== file.value) {
      const ids = new Set(file.value.map(({ id }) => id));
      for (const key of seen) if (!ids.has(key.id)) replaced.set(key, now + lifeMs);
      seen = file.value;
    }
    for (const [key, until] of replaced) if (until <= now) replaced.delete(key);
    return [...seen, ...replaced.keys()];
  }

  function find({ kid, alg }: JWSHeaderParameters): KeyObject | undefined {
    return inForce().find(({ id, algorithm }) => id === kid && algorithm === alg)?.publicKey;
  }

  async function findAgain(header: JWSHeaderParameters): Promise<KeyObject> {
    // Another process may have read the new file before this one, and signed with its key.
    await file.refresh();
    const key = find(header);
    if (key === undefined) throw new Error('not signed with a key of ours');
    return key;
  }

  return {
    algorithms: SIGNING_ALGORITHMS,
    current: () => {
      const { id, algorithm, privateKey } = inForce()[0] as SigningKey;
      return { key: privateKey, header: { alg: algorithm, kid: id } };
    },
    verification: (header) => find(header) ?? findAgain(header),
    published: () => inForce().map(({ jwk }) => jwk),
    close: () => file.close(),
  };
}
