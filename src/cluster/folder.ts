import { existsSync, lstatSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';

/** Held by every process of a cluster while it lives; the operating system lets go of it with the process. */
const LOCK_FILE = 'lock';
/** How long a process waits for another one that is clearing the folder, in milliseconds. */
const BUSY_MS = 5000;
/** How often it begins again where the folder was removed under it. */
const ATTEMPTS = 10;
/** Primary result code, https://www.sqlite.org/rescode.html. */
const SQLITE_BUSY = 5;

/** A private folder that the processes of one cluster have together, for as long as one of them lives. */
export interface Folder {
  readonly path: string;
  /** The last one to leave removes the folder. */
  leave(): void;
}

/**
 * Enters the folder of a cluster, and makes it where no process is in it. What a cluster left behind that ended without
 * leaving is removed.
 * @param base where the folders are. @default a folder of this user alone, below the system's temporary one
 * @throws when it cannot be made, or others may write to it
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
  throw new Error('the folder is removed again and again');
}

function tryToEnter(path: string): DatabaseSync | undefined {
  makePrivate(path);
  return takeLock(path);
}

function ownFolder(): string {
  const user = process.getuid?.();
  return join(tmpdir(), user === undefined ? 'rdcp-cluster' : `rdcp-cluster-${user}`);
}

/** The temporary folder is everybody's: one that somebody else made, or may write to, is not used. */
function makePrivate(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const found = lstatSync(path);
  const user = process.getuid?.();
  if (!found.isDirectory()) throw new Error('the folder is a file or a link');
  if (user !== undefined && (found.uid !== user || (found.mode & 0o077) !== 0)) {
    throw new Error('the folder is open to other users');
  }
}

/** `undefined` where the lock is of a file that is new, or that the last process removed meanwhile: to be tried again. */
function takeLock(path: string): DatabaseSync | undefined {
  const before = inode(path);
  const lock = openLock(path);
  try {
    if (takeAlone(lock)) {
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
  // Loaded only here: Node 22 warns that node:sqlite is experimental.
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
  return new DatabaseSync(join(path, LOCK_FILE));
}

/** Takes the lock for this process alone, where no process holds it. */
function takeAlone(lock: DatabaseSync): boolean {
  try {
    lock.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE');
    return true;
  } catch (error) {
    if (Reflect.get(Object(error), 'errcode') === SQLITE_BUSY) return false;
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
    if (takeAlone(lock)) remove(path);
  } catch {
    // What is left in a temporary folder is removed by the next cluster that starts.
  } finally {
    lock.close();
  }
}

/** Under the exclusive lock: no process uses the folder. */
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
        if (takeAlone(lock)) remove(path);
      } finally {
        lock.close();
      }
    } catch {
      // Somebody else is removing it, or has just made it.
    }
  }
}
