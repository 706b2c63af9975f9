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
import { codeOf } from '../../wire/thrown.ts';

const LOCK_PATIENCE_MS = 5000;
const LOCK_PAUSE_MS = 25;

/** A lock admits one writer. A new file has mode 0600; another keeps its mode and owner. A folder that cannot be written fails first. */
export async function updateFile(file: string, change: (text: string) => string | Promise<string>): Promise<void> {
  // Of a symbolic link the target is replaced, not the link.
  const target = statSync(file, { throwIfNoEntry: false }) === undefined ? file : realpathSync(file);
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

/** A killed process leaves it behind. It is never removed by itself: two could do so at once, and a credential would be lost. */
async function lock(path: string): Promise<() => void> {
  for (let waited = 0; ; waited += LOCK_PAUSE_MS) {
    try {
      closeSync(openSync(path, 'wx', 0o600));
      return () => rmSync(path, { force: true });
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
      if (waited >= LOCK_PATIENCE_MS) {
        throw new Error(`${path} is locked by another rdcp process; if none is running, remove that file`);
      }
    }
    await sleep(LOCK_PAUSE_MS);
  }
}

function keepOwner(draft: string, { uid, gid }: Stats): void {
  try {
    chownSync(draft, uid, gid);
  } catch {
    // Only root may change the owner. For other users the file becomes theirs, as with any editor.
  }
}
