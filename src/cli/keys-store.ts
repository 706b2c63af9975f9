import { randomBytes } from 'node:crypto';
import {
  chownSync,
  closeSync,
  fchmodSync,
  fsyncSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeSync,
} from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseKeysFile } from '../auth/keys-file.ts';
import type { ApiKeyRecord } from '../config.ts';

const LOCK_PATIENCE_MS = 5000;
const LOCK_PAUSE_MS = 25;

/** @throws {RdcpError} `RDCP_CONFIG_INVALID` when the file is wrong */
export function readKeys(file: string): ApiKeyRecord[] {
  return parseKeysFile(readFileSync(file, 'utf8'), file);
}

/**
 * Changes the records of a keys file: one writer at a time, and a reader finds either the old file or the new one. A
 * file that is not there is made, for its owner alone; one that is there keeps its mode and, where the system lets us,
 * its owner, because the service that reads it may be another user.
 */
export async function updateKeys(
  file: string,
  change: (records: readonly ApiKeyRecord[]) => readonly ApiKeyRecord[],
): Promise<void> {
  const target = resolved(file);
  const release = await lock(`${target}.lock`);
  try {
    const stats = statSync(target, { throwIfNoEntry: false });
    // An empty file, as `mktemp` or `touch` make it, has no keys yet.
    const records = change(stats === undefined || stats.size === 0 ? [] : readKeys(target));
    const text = `${JSON.stringify({ keys: records }, undefined, 2)}\n`;
    // What the service would refuse is not written.
    parseKeysFile(text, file);
    replace(target, text, stats);
  } finally {
    release();
  }
}

/** A link is followed, so that the file behind it is replaced and not the link. */
function resolved(file: string): string {
  return statSync(file, { throwIfNoEntry: false }) === undefined ? file : realpathSync(file);
}

/**
 * The lock is a file that only one process can create. One left behind by a process that was killed is not broken by
 * age: two processes could do so at once, and a key would be lost.
 */
async function lock(path: string): Promise<() => void> {
  for (let waited = 0; ; waited += LOCK_PAUSE_MS) {
    try {
      closeSync(openSync(path, 'wx', 0o600));
      return () => rmSync(path, { force: true });
    } catch (error) {
      if (!isExisting(error)) throw error;
      if (waited >= LOCK_PATIENCE_MS) {
        throw new Error(`${path} exists: another rdcp is at work; if none is, remove that file`);
      }
    }
    await sleep(LOCK_PAUSE_MS);
  }
}

function replace(target: string, text: string, previous: Stats | undefined): void {
  const draft = `${target}.${randomBytes(6).toString('hex')}`;
  const descriptor = openSync(draft, 'wx', 0o600);
  try {
    writeSync(descriptor, text);
    if (previous !== undefined) {
      keepOwner(draft, previous);
      fchmodSync(descriptor, previous.mode & 0o777);
    }
    fsyncSync(descriptor);
    renameSync(draft, target);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
}

function keepOwner(draft: string, { uid, gid }: Stats): void {
  try {
    chownSync(draft, uid, gid);
  } catch {
    // Only root may give a file away; for everybody else the file becomes theirs, as with any editor.
  }
}

function isExisting(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EEXIST';
}
