import { randomBytes } from 'node:crypto';
import { chmodSync, linkSync, lstatSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RdcpError } from '../errors.ts';
import type { ApiKeyRecord } from '../options.ts';
import { SCOPES } from '../protocol/constants.ts';
import { assertUsableSecret, generateApiKey, hashApiKey, inspectApiKey } from './api-key.ts';

/** Location of the development key in the working directory. */
const DEV_KEY_DIRECTORY = '.rdcp';
const DEV_KEY_FILE = 'dev-key';

/**
 * Returns the record of this directory's development key, for a service without configured credentials: all scopes, client
 * `dev`. The key is written only to `.rdcp/dev-key` (mode 0600, directory mode 0700). An existing key is reused if only its
 * owner can read it, and replaced otherwise.
 * @param cwd @default the working directory, which may have been deleted
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` if the file cannot be written or kept private
 */
export function ensureDevKey(cwd?: string): ApiKeyRecord {
  try {
    const parent = cwd ?? process.cwd();
    const directory = privateDirectory(parent);
    const key = readDevKey(parent) ?? writeDevKey(directory);
    return fullAccess('dev', key);
  } catch (cause) {
    throw new RdcpError(
      'RDCP_CONFIG_INVALID',
      `no credential is configured and ${DEV_KEY_DIRECTORY}/${DEV_KEY_FILE} cannot be written: configure security.apiKeys, RDCP_API_KEYS_FILE or RDCP_API_KEY`,
      { details: { field: 'security.apiKeys' }, cause },
    );
  }
}

/** Returns the development key of a directory, or `undefined` if it is missing, malformed or not private. */
export function readDevKey(cwd: string): string | undefined {
  const file = join(cwd, DEV_KEY_DIRECTORY, DEV_KEY_FILE);
  const stats = lstatSync(file, { throwIfNoEntry: false });
  if (stats === undefined || !stats.isFile() || !isOwn(stats.uid) || !isPrivate(stats.mode)) return undefined;
  const key = readFileSync(file, 'utf8').trimEnd();
  return inspectApiKey(key).form === 'generated' ? key : undefined;
}

/**
 * Returns the record of an operator's own key: all scopes, client `env`.
 * @param name variable that holds the key
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` if it is shorter than 128 bits, or could never match
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
  const temporary = `${file}.${randomBytes(6).toString('hex')}`;
  writeFileSync(temporary, `${key}\n`, { mode: 0o600, flag: 'wx' });
  try {
    linkSync(temporary, file);
    return key;
  } catch {
    // Another process may have written a valid key first. Otherwise the file is the rejected one, and is replaced.
    const existing = readDevKey(join(directory, '..'));
    if (existing !== undefined) return existing;
    renameSync(temporary, file);
    return key;
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** Creates the directory. Its owner must be this user: another owner could replace the key. */
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

/** Windows has no mode bits; the directory's access list protects the file. */
function isPrivate(mode: number): boolean {
  return process.platform === 'win32' || (mode & 0o077) === 0;
}
