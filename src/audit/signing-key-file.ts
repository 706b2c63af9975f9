import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { isRdcpError, RdcpError } from '../errors.ts';
import { createSigner, type Signer } from './signature.ts';

/**
 * Signs with the key in a file that only its owner may read.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` in one line, without the key or the path
 */
export function openSigner(path: string): Signer {
  const name = `configuration: audit.signingKeyFile: ${basename(path)}`;
  try {
    return createSigner(readPrivately(path, name), name);
  } catch (cause) {
    if (isRdcpError(cause)) throw cause;
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown reason';
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
  return new RdcpError('RDCP_CONFIG_INVALID', message, { details: { field: 'audit.signingKeyFile' }, cause });
}
