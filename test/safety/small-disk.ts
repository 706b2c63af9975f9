import { spawnSync } from 'node:child_process';
import { chownSync, mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { newFolder } from '../support/folder.ts';

const mount = (folder: string, options: string) =>
  spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder]).status === 0;
const unmount = (folder: string) => spawnSync('umount', ['-l', folder]);

/** A file system of that size for the length of a test. @param owner @default the user of this process */
export function smallDisk(t: TestContext, size: string, owner?: { readonly uid: number; readonly gid: number }) {
  let disk = '';
  // Before its directory is removed.
  t.after(() => unmount(disk));
  disk = newFolder(t);
  if (!mount(disk, `size=${size},mode=700`)) throw new Error(whyNoMount() || 'mount failed');
  if (owner !== undefined) chownSync(disk, owner.uid, owner.gid);
  return disk;
}

export function whyNoMount(): string | false {
  const folder = mkdtempSync(join(tmpdir(), 'rdcp-mount-'));
  const mounted = mount(folder, 'size=1m');
  if (mounted) unmount(folder);
  rmdirSync(folder);
  return mounted ? false : 'needs the right to mount a small disk';
}
