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

const LOCK_PATIENCE_MS = 5000;
const LOCK_PAUSE_MS = 25;

/**
 * Changes the text of a file that holds credentials: one writer at a time, and a reader finds either the old text or the
 * new one. A file that is not there is made, for its owner alone; one that is there keeps its mode and, where the system
 * lets us, its owner, because the service that reads it may be another user.
 * @param change gets an empty text where there is no file. The new text is written to a draft that was opened before, so
 * that a place which cannot be written is known before anything that `change` does
 */
export async function updateFile(file: string, change: (text: string) => string | Promise<string>): Promise<void> {
  const target = resolved(file);
  const release = await lock(`${target}.lock`);
  try {
    const stats = statSync(target, { throwIfNoEntry: false });
    const draft = `${target}.${randomBytes(6).toString('hex')}`;
    const descriptor = openSync(draft, 'wx', 0o600);
    try {
      writeSync(descriptor, await change(stats === undefined ? '' : readFileSync(target, 'utf8')));
      if (stats !== undefined) {
        keepOwner(draft, stats);
        fchmodSync(descriptor, stats.mode & 0o777);
      }
      fsyncSync(descriptor);
      renameSync(draft, target);
    } catch (error) {
      rmSync(draft, { force: true });
      throw error;
    } finally {
      closeSync(descriptor);
    }
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
 * age: two processes could do so at once, and a credential would be lost.
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
