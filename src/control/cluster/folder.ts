import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, type Stats, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { isBusy } from '../../store/sqlite/lock.ts';

/** Locked by every process of a cluster. The operating system releases it when the process ends. */
const LOCK_FILE = 'lock';
/** How long a process waits while another clears the folder, in milliseconds. */
const BUSY_MS = 5000;
/** Maximum number of attempts, when the folder is removed during entering. */
const ATTEMPTS = 10;
/** Folders created within this time may be in any order, in milliseconds. */
const SETTLE_MS = 20;

/** A private folder shared by the processes of one cluster. */
export interface Folder {
  readonly path: string;
  /** Leaves the folder. The last process removes it. */
  leave(): void;
}

/**
 * Enters the folder of a cluster, and creates it if needed. Removes folders of clusters that crashed.
 * @param base parent of the folders. @default a private folder of this user in the system's temporary folder
 * @throws if it cannot be created, or other users have access to it
 */
export function enterFolder(cluster: string, base: string = ownFolder()): Folder {
  makePrivate(base);
  removeAbandoned(base, cluster);
  const path = join(base, cluster);
  for (let attempt = 1; attempt < ATTEMPTS; attempt++) {
    try {
      const lock = tryToEnter(path);
      if (lock !== undefined) return { path, leave: () => leave(path, lock) };
    } catch (error) {
      if (existsSync(path)) throw error;
    }
  }
  throw new Error(`the folder was removed ${ATTEMPTS - 1} times while entering it`);
}

/** Whether a process has entered the folder of a cluster. Creates nothing. */
export function isEntered(cluster: string): boolean {
  const base = oldestFolder(folderPrefix())?.path;
  return base !== undefined && existsSync(join(base, cluster));
}

function tryToEnter(path: string): DatabaseSync | undefined {
  makePrivate(path);
  return takeSharedLock(path);
}

/**
 * The private folder of this user. Its name has a random part: the temporary folder is shared, and another user may have
 * taken any name that is known. Processes that start together may create several, and all use the oldest.
 */
function ownFolder(): string {
  const prefix = folderPrefix();
  for (let attempt = 1; ; attempt++) {
    const found = oldestFolder(prefix);
    const isOldest = found !== undefined && Math.abs(Date.now() - found.birthtimeMs) > SETTLE_MS;
    if (isOldest || (found !== undefined && attempt > ATTEMPTS)) return found.path;
    if (found === undefined) mkdtempSync(prefix);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, SETTLE_MS);
  }
}

const folderPrefix = () => join(tmpdir(), `rdcp-cluster-${process.getuid?.() ?? 'user'}-`);

function oldestFolder(prefix: string): { readonly path: string; readonly birthtimeMs: number } | undefined {
  const found = readdirSync(dirname(prefix)).flatMap((name) => {
    const path = join(dirname(prefix), name);
    const stats = path.startsWith(prefix) ? lstatSync(path, { throwIfNoEntry: false }) : undefined;
    return stats !== undefined && problemOf(stats) === undefined ? [{ path, birthtimeMs: stats.birthtimeMs }] : [];
  });
  return found.sort((a, b) => a.birthtimeMs - b.birthtimeMs || (a.path < b.path ? -1 : 1))[0];
}

/** Creates a private folder. Rejects one that another user created or can access: the temporary folder is shared. */
function makePrivate(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const problem = problemOf(lstatSync(path));
  if (problem !== undefined) throw new Error(problem);
}

function problemOf(found: Stats): string | undefined {
  const user = process.getuid?.();
  if (!found.isDirectory()) return 'the folder is a file or a link';
  if (user === undefined || (found.uid === user && (found.mode & 0o077) === 0)) return undefined;
  return 'the folder is open to other users';
}

/** Returns the shared lock, or `undefined` to retry, if the lock file is new or was removed meanwhile. */
function takeSharedLock(path: string): DatabaseSync | undefined {
  const before = inode(path);
  const lock = openLock(path);
  try {
    if (takeExclusiveLock(lock)) {
      clear(path);
      lock.exec('COMMIT');
    }
    lock.exec(`PRAGMA busy_timeout = ${BUSY_MS}; BEGIN`);
    // The first read of a transaction takes the shared lock.
    lock.prepare('SELECT count(*) FROM sqlite_schema').get();
    if (before !== undefined && inode(path) === before) return lock;
  } catch (error) {
    lock.close();
    throw error;
  }
  lock.close();
  return undefined;
}

function inode(path: string): number | undefined {
  return statSync(join(path, LOCK_FILE), { throwIfNoEntry: false })?.ino;
}

function openLock(path: string): DatabaseSync {
  // Loaded on demand: Node 22 warns that node:sqlite is experimental.
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
  return new DatabaseSync(join(path, LOCK_FILE));
}

/** Takes the exclusive lock. Returns false if another process holds the lock. */
function takeExclusiveLock(lock: DatabaseSync): boolean {
  try {
    lock.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE');
    return true;
  } catch (error) {
    if (isBusy(error)) return false;
    throw error;
  }
}

function clear(path: string): void {
  for (const name of readdirSync(path)) {
    if (name !== LOCK_FILE && name !== `${LOCK_FILE}-journal`) rmSync(join(path, name), { recursive: true });
  }
}

function leave(path: string, lock: DatabaseSync): void {
  if (!lock.isOpen) return;
  try {
    lock.exec('COMMIT');
    if (takeExclusiveLock(lock)) remove(path);
  } catch {
    // The next cluster that starts removes what remains.
  } finally {
    lock.close();
  }
}

/** Removes a folder. The caller holds the exclusive lock. */
function remove(path: string): void {
  rmSync(path, { recursive: true });
}

function removeAbandoned(base: string, own: string): void {
  for (const name of readdirSync(base)) {
    if (name === own) continue;
    const path = join(base, name);
    try {
      const lock = openLock(path);
      try {
        if (takeExclusiveLock(lock)) remove(path);
      } finally {
        lock.close();
      }
    } catch {
      // Another process is removing it, or has just created it.
    }
  }
}
