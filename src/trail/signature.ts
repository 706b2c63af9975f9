import { createPrivateKey, createPublicKey, hash, type KeyObject, sign, verify } from 'node:crypto';
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { AuditEntry } from '../wire/audit-messages.ts';
import { invalidSetting, isRdcpError, type RdcpError } from '../wire/errors.ts';
import { codeOf } from '../wire/thrown.ts';

export type Signature = NonNullable<AuditEntry['compliance']['signature']>;

/** Signs the hash of an entry, and with it every entry before it in the chain. */
export type Signer = (entryHash: string) => Signature;

const PUBLIC_KEY = /-----BEGIN PUBLIC KEY-----[^-]+-----END PUBLIC KEY-----/g;

/** Reads an Ed25519 key, PKCS #8 in PEM. @param name of the file @throws {RdcpError} `RDCP_CONFIG_INVALID` without any part of the key */
export function createSigner(text: string, name: string): Signer {
  const key = parsed(() => createPrivateKey(text));
  if (key?.asymmetricKeyType !== 'ed25519') {
    throw invalid(`${name} must hold an unencrypted Ed25519 private key (PKCS #8, PEM)`);
  }
  const keyId = keyIdOf(createPublicKey(key));
  return (entryHash) => ({ keyId, value: sign(null, message(entryHash), key).toString('base64url') });
}

/** The file may be read by its owner alone. @throws {RdcpError} `RDCP_CONFIG_INVALID` in one line, without the key or the path */
export function openSigner(path: string): Signer {
  const name = `configuration: audit.signingKeyFile: ${basename(path)}`;
  try {
    return createSigner(readPrivately(path, name), name);
  } catch (cause) {
    if (isRdcpError(cause)) throw cause;
    const code = codeOf(cause) ?? 'unknown reason';
    throw invalid(`${name} cannot be read (${code})`, cause);
  }
}

function readPrivately(path: string, name: string): string {
  const descriptor = openSync(path, 'r');
  try {
    // Windows has no such mode bits.
    if (process.platform !== 'win32' && (fstatSync(descriptor).mode & 0o077) !== 0) {
      throw invalid(`${name} may be read by others: its mode must be 0600 or 0400`);
    }
    return readFileSync(descriptor, 'utf8');
  } finally {
    closeSync(descriptor);
  }
}

function invalid(message: string, cause?: unknown): RdcpError {
  return invalidSetting('audit.signingKeyFile', message, cause);
}

/** The public keys that a trail may be signed with: today's and earlier ones. */
export type PublicKeys = NonNullable<ReturnType<typeof parsePublicKeys>>;

/** @returns `undefined` when the text has no Ed25519 public key (PEM), or an invalid one */
export function parsePublicKeys(text: string) {
  const keys = new Map<string, KeyObject>();
  for (const [block] of text.matchAll(PUBLIC_KEY)) {
    const key = parsed(() => createPublicKey(block));
    if (key?.asymmetricKeyType !== 'ed25519') return undefined;
    keys.set(keyIdOf(key), key);
  }
  if (keys.size === 0) return undefined;
  return {
    /** `unknown` for a signature by another key. */
    check(entryHash: string, { keyId, value }: Signature): 'right' | 'wrong' | 'unknown' {
      const key = keys.get(keyId);
      if (key === undefined) return 'unknown';
      return verify(null, message(entryHash), key, Buffer.from(value, 'base64url')) ? 'right' : 'wrong';
    },
  };
}

/** `undefined` for an invalid key: the parser's own message may quote the file. */
function parsed(parse: () => KeyObject): KeyObject | undefined {
  try {
    return parse();
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
