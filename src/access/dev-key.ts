import { hash, randomBytes } from 'node:crypto';
import { chmodSync, linkSync, lstatSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ApiKeyRecord } from '../options/options.ts';
import { STANDARD_SCOPES } from '../wire/constants.ts';
import { assertUsableSecret, generateApiKey, hashApiKey, inspectApiKey } from './api-key.ts';

const DIRECTORY = '.rdcp';
const FILE = 'dev-key';

export const NO_DEV_KEY =
  'no credential is configured, and a key can be written neither to .rdcp here nor to the temporary folder: configure security.apiKeys, RDCP_API_KEYS_FILE or RDCP_SERVER_API_KEY';

interface Place {
  readonly directory: string;
  readonly file: string;
}

/**
 * The directory of the service, and where that cannot be written, a folder of this user in the system's temporary folder,
 * named after that directory. None where the working directory was deleted.
 */
function places(cwd: string | undefined, temporary: string): Place[] {
  try {
    const parent = cwd ?? process.cwd();
    const name = hash('sha256', parent).slice(0, 16);
    const directory = join(temporary, ['rdcp', process.getuid?.() ?? [], name].flat().join('-'));
    return [
      { directory: join(parent, DIRECTORY), file: `${DIRECTORY}/${FILE}` },
      { directory, file: join(directory, FILE) },
    ];
  } catch {
    return [];
  }
}

/** Written to a private file alone, and used again while only its owner can read it. `undefined` if there is nowhere to keep one. */
export function ensureDevKey(cwd?: string, temporary: string = tmpdir()): ApiKeyRecord | undefined {
  for (const { directory } of places(cwd, temporary)) {
    try {
      makePrivate(directory);
      return fullAccess('dev', readKey(directory) ?? writeKey(directory));
    } catch {
      // It cannot be written, or not be kept private.
    }
  }
  return undefined;
}

/** Returns the development key of the service in a directory, and its file; `undefined` if none is there that is private. */
export function findDevKey(cwd?: string, temporary: string = tmpdir()): { key: string; file: string } | undefined {
  for (const { directory, file } of places(cwd, temporary)) {
    const key = readKey(directory);
    if (key !== undefined) return { key, file };
  }
  return undefined;
}

function readKey(directory: string): string | undefined {
  const file = join(directory, FILE);
  try {
    const [folder, stats] = [lstatSync(directory), lstatSync(file)];
    if (!folder.isDirectory() || !isOwn(folder.uid)) return undefined;
    if (!stats.isFile() || !isOwn(stats.uid) || !isPrivate(stats.mode)) return undefined;
    const key = readFileSync(file, 'utf8').trimEnd();
    return inspectApiKey(key).form === 'generated' ? key : undefined;
  } catch {
    // Missing, or in a directory of another user.
    return undefined;
  }
}

/** The record of a key from the environment: all scopes, client `env`. @param name variable that holds the key @throws {RdcpError} `RDCP_CONFIG_INVALID` */
export function secretKeyRecord(secret: string, name: string): ApiKeyRecord {
  assertUsableSecret(secret, name);
  return fullAccess('env', secret);
}

function fullAccess(client: string, key: string): ApiKeyRecord {
  return { id: client, hash: hashApiKey(key), clientId: client, scopes: [...STANDARD_SCOPES] };
}

function writeKey(directory: string): string {
  const key = generateApiKey({ env: 'dev', randomBytes });
  const file = join(directory, FILE);
  const temporary = `${file}.${randomBytes(6).toString('hex')}`;
  writeFileSync(temporary, `${key}\n`, { mode: 0o600, flag: 'wx' });
  try {
    linkSync(temporary, file);
    return key;
  } catch {
    // Another process may have written a valid key first. Otherwise the file is the rejected one, and is replaced.
    const existing = readKey(directory);
    if (existing !== undefined) return existing;
    renameSync(temporary, file);
    return key;
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** Creates the directory, without a place in a repository. Its owner must be this user: another owner could replace the key. */
function makePrivate(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const stats = lstatSync(directory);
  if (!stats.isDirectory() || !isOwn(stats.uid)) throw new Error('not a directory of this user');
  if (!isPrivate(stats.mode)) chmodSync(directory, 0o700);
  try {
    writeFileSync(join(directory, '.gitignore'), '*\n', { flag: 'wx' });
  } catch {
    // It is there, or the file system is read-only and may have a key nevertheless.
  }
}

function isOwn(uid: number): boolean {
  return process.getuid === undefined || process.getuid() === uid;
}

/** Windows has no mode bits; the directory's access list protects the file. */
function isPrivate(mode: number): boolean {
  return process.platform === 'win32' || (mode & 0o077) === 0;
}
