import { randomBytes } from 'node:crypto';
import { chmodSync, linkSync, lstatSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RdcpError } from '../errors.ts';
import type { ApiKeyRecord } from '../options.ts';
import { SCOPES } from '../protocol/constants.ts';
import { assertUsableSecret, generateApiKey, hashApiKey, inspectApiKey } from './api-key.ts';

/** Where the development key lies, below the working directory. */
const DEV_KEY_DIRECTORY = '.rdcp';
const DEV_KEY_FILE = 'dev-key';

/**
 * The record of this directory's development key, for a service without any configured credential: every scope, client
 * `dev`. The key itself goes to `.rdcp/dev-key` (mode 0600, in a directory of mode 0700) and nowhere else. One that is
 * there is used again when only its owner can have read it; any other is replaced.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` when the file cannot be kept private or not be written
 */
export function ensureDevKey(cwd: string): ApiKeyRecord {
  try {
    const directory = privateDirectory(cwd);
    const key = readDevKey(cwd) ?? writeDevKey(directory);
    return fullAccess('dev', key);
  } catch (cause) {
    throw new RdcpError(
      'RDCP_CONFIG_INVALID',
      `no credential is configured and ${DEV_KEY_DIRECTORY}/${DEV_KEY_FILE} cannot be written: configure security.apiKeys, RDCP_API_KEYS_FILE or RDCP_API_KEY`,
      { details: { field: 'security.apiKeys' }, cause },
    );
  }
}

/** The development key below a directory; `undefined` where there is none, or none that is well-formed and private. */
export function readDevKey(cwd: string): string | undefined {
  const file = join(cwd, DEV_KEY_DIRECTORY, DEV_KEY_FILE);
  const stats = lstatSync(file, { throwIfNoEntry: false });
  if (stats === undefined || !stats.isFile() || !isOwn(stats.uid) || !isPrivate(stats.mode)) return undefined;
  const key = readFileSync(file, 'utf8').trimEnd();
  return inspectApiKey(key).form === 'generated' ? key : undefined;
}

/**
 * The record of a key that the operator made up, for the variable that holds it: every scope, client `env`.
 * @param name of the variable
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` when it is shorter than 128 bits, or could never match
 */
export function secretKeyRecord(secret: string, name: string): ApiKeyRecord {
  assertUsableSecret(secret, name);
  return fullAccess('env', secret);
}

function fullAccess(client: string, key: string): ApiKeyRecord {
  return { id: client, hash: hashApiKey(key), clientId: client, scopes: [...SCOPES] };
}

function writeDevKey(directory: string): string {
  const key = generateApiKey({ env: 'dev', randomBytes });
  const file = join(directory, DEV_KEY_FILE);
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  writeFileSync(draft, `${key}\n`, { mode: 0o600, flag: 'wx' });
  try {
    linkSync(draft, file);
    return key;
  } catch {
    // Another process wrote its key first: it is this one's too. What is there may also be the one that was refused.
    const theirs = readDevKey(join(directory, '..'));
    if (theirs !== undefined) return theirs;
    renameSync(draft, file);
    return key;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** In a directory that somebody else owns, that user could swap the key for one they know. */
function privateDirectory(cwd: string): string {
  const directory = join(cwd, DEV_KEY_DIRECTORY);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const stats = lstatSync(directory);
  if (!stats.isDirectory() || !isOwn(stats.uid)) throw new Error('not a directory of this user');
  if (!isPrivate(stats.mode)) chmodSync(directory, 0o700);
  return directory;
}

function isOwn(uid: number): boolean {
  return process.getuid === undefined || process.getuid() === uid;
}

/** Windows has no such mode bits; there the directory's access list protects the file. */
function isPrivate(mode: number): boolean {
  return process.platform === 'win32' || (mode & 0o077) === 0;
}
