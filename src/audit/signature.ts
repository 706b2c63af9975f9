import { createPrivateKey, createPublicKey, hash, type KeyObject, sign, verify } from 'node:crypto';
import { RdcpError } from '../errors.ts';
import type { AuditEntry } from '../protocol/audit-messages.ts';

export type Signature = NonNullable<AuditEntry['compliance']['signature']>;

/** Signs the hash of an entry, and with it every entry before it in the chain. */
export type Signer = (entryHash: string) => Signature;

const PUBLIC_KEY = /-----BEGIN PUBLIC KEY-----[^-]+-----END PUBLIC KEY-----/g;

/**
 * Signs with a private key.
 * @param text Ed25519, PKCS #8, PEM
 * @param name the file's name in messages
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` in one line, without any part of the key
 */
export function createSigner(text: string, name: string): Signer {
  const key = privateKey(text);
  if (key?.asymmetricKeyType !== 'ed25519') {
    throw new RdcpError('RDCP_CONFIG_INVALID', `${name} must hold an unencrypted Ed25519 private key (PKCS #8, PEM)`, {
      details: { field: 'audit.signingKeyFile' },
    });
  }
  const keyId = keyIdOf(createPublicKey(key));
  return (entryHash) => ({ keyId, value: sign(null, message(entryHash), key).toString('base64url') });
}

function privateKey(text: string): KeyObject | undefined {
  try {
    return createPrivateKey(text);
  } catch {
    // The parser's own message may quote the file.
    return undefined;
  }
}

/** The public keys that a trail may be signed with: today's and earlier ones. */
export interface PublicKeys {
  /** `unknown` for a signature by another key. */
  check(entryHash: string, signature: Signature): 'right' | 'wrong' | 'unknown';
}

/** @returns `undefined` when the text has no Ed25519 public key (PEM), or an invalid one */
export function parsePublicKeys(text: string): PublicKeys | undefined {
  const keys = new Map<string, KeyObject>();
  for (const [block] of text.matchAll(PUBLIC_KEY)) {
    const key = publicKey(block);
    if (key?.asymmetricKeyType !== 'ed25519') return undefined;
    keys.set(keyIdOf(key), key);
  }
  if (keys.size === 0) return undefined;
  return {
    check(entryHash, { keyId, value }) {
      const key = keys.get(keyId);
      if (key === undefined) return 'unknown';
      return verify(null, message(entryHash), key, Buffer.from(value, 'base64url')) ? 'right' : 'wrong';
    },
  };
}

function publicKey(block: string): KeyObject | undefined {
  try {
    return createPublicKey(block);
  } catch {
    return undefined;
  }
}

/** The prefix keeps a signature from being valid for anything else. */
function message(entryHash: string): Buffer {
  return Buffer.from(`rdcp.audit.entry:${entryHash}`);
}

function keyIdOf(key: KeyObject): string {
  return hash('sha256', key.export({ type: 'spki', format: 'der' }), 'hex').slice(0, 16);
}
