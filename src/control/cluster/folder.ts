import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';

/** Locked by a process while it enters or leaves a folder. */
const DOOR = 'door';
/** Locked by every process of a cluster. The operating system releases it when the process ends. */
const PRESENCE = 'lock';
/** How long a process waits while others enter or leave, in milliseconds. Blocks the event loop. */
const BUSY_MS = 5000;
/** Number of names that are tried: in the shared temporary folder, another user may have taken one. */
const NAMES = 10;
/** By the sticky bit, systemd leaves an old file in a temporary folder alone (XDG Base Directory Specification). */
const FILE_MODE = 0o1600;

export type Folder = ReturnType<typeof enterFolder>;

/**
 * Enters the folder of a cluster, which is empty for the first process. Removes what clusters that have ended left.
 * @param base parent of the folders. @default a private folder of this user in the system's temporary folder
 * @throws if there is no private folder, or SQLite is missing
 */
export function enterFolder(cluster: string, base: string = ownFolder()) {
  const path = join(base, cluster);
  const presence = alone(base, () => {
    for (const name of readdirSync(base)) if (name !== DOOR) removeAbandoned(join(base, name));
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return enterPresence(path);
  });
  const read = (name: string) => unless('ENOENT', () => readFileSync(join(path, name), 'utf8'));
  return {
    path,
    /** Writes a file, unless there is one of that name. Returns whether it was written. */
    put: (name: string, text?: string) => put(join(path, name), text),
    read,
    /** Removes a file. Only one process gets its text. */
    take(name: string): string | undefined {
      const text = read(name);
      return unless('ENOENT', () => {
        unlinkSync(join(path, name));
        return text;
      });
    },
    /** Leaves the folder. The last process removes it. */
    leave(): void {
      if (!presence.isOpen) return;
      presence.close();
      try {
        alone(base, () => removeAbandoned(path));
      } catch {
        // The next cluster that starts removes what remains.
      }
    },
  };
}

/** Whether a process has entered the folder of a cluster. Creates nothing. */
export function isEntered(cluster: string): boolean {
  return names().some((base) => isPrivate(base) && existsSync(join(base, cluster)));
}

function names(): readonly string[] {
  const name = join(tmpdir(), `rdcp-cluster-${process.getuid?.() ?? 'user'}`);
  return Array.from({ length: NAMES }, (_, index) => (index === 0 ? name : `${name}-${index}`));
}

/** The folder of this user, also after another user has freed an earlier name; otherwise the first name that is free. */
function ownFolder(): string {
  for (const path of [...names().filter(isPrivate), ...names()]) {
    unless('EEXIST', () => mkdirSync(path, { mode: 0o700 }));
    if (isPrivate(path)) return path;
  }
  throw new Error('other users have taken the names of the private folder');
}

function isPrivate(path: string): boolean {
  const user = process.getuid?.();
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found?.isDirectory() === true && (user === undefined || (found.uid === user && (found.mode & 0o077) === 0));
}

function put(path: string, text = ''): boolean {
  const write = () => {
    writeFileSync(path, text, { flag: 'wx', mode: FILE_MODE });
    return true;
  };
  return unless('EEXIST', write) ?? false;
}

/** Returns `undefined` when work fails with that code. */
function unless<T>(code: string, work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === code) return undefined;
    throw error;
  }
}

/** Runs work while no other process enters or leaves. */
function alone<T>(base: string, work: () => T): T {
  const door = openLock(base, DOOR);
  try {
    door.exec(`PRAGMA busy_timeout = ${BUSY_MS}; BEGIN EXCLUSIVE`);
    return work();
  } finally {
    door.close();
  }
}

function openLock(folder: string, name: string): DatabaseSync {
  // Loaded on demand: Node 22 warns that node:sqlite is experimental.
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
  put(join(folder, name));
  return new DatabaseSync(join(folder, name));
}

function enterPresence(path: string): DatabaseSync {
  const lock = openLock(path, PRESENCE);
  try {
    // The first read of a transaction takes the shared lock.
    lock.exec('BEGIN; SELECT count(*) FROM sqlite_schema');
    return lock;
  } catch (error) {
    lock.close();
    throw error;
  }
}

/** Removes a folder that no process has entered. One that cannot be locked stays, and hinders no cluster. */
function removeAbandoned(path: string): void {
  try {
    const lock = openLock(path, PRESENCE);
    try {
      lock.exec('BEGIN EXCLUSIVE');
    } finally {
      lock.close();
    }
    rmSync(path, { recursive: true });
  } catch {}
}
