import { accessSync, closeSync, constants, openSync, statSync } from 'node:fs';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { StoreOutage } from '../../wire/errors.ts';
import { invalidStore } from '../invalid.ts';

/** A primary result code, https://www.sqlite.org/rescode.html. */
const SQLITE_BUSY = 5;
/** `RDCP` in ASCII marks the file as ours, so that we never write to another application's database. */
const APPLICATION_ID = 0x52444350;

/** How long the first opening waits for another process that creates the same file, in milliseconds. */
const OPEN_TIMEOUT_MS = 5_000;

/** The format that this release reads and writes: `user_version` of the file. */
const VERSION = 2;

const SCHEMA = `
  CREATE TABLE scope (
    key TEXT PRIMARY KEY,
    revision INTEGER NOT NULL,
    settings TEXT NOT NULL,
    changed_at INTEGER NOT NULL,
    -- Rises by every write of any scope, so that what others changed is found without reading all.
    version INTEGER NOT NULL UNIQUE,
    writer TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- The id of the file's history, which the positions of its processes belong to.
  CREATE TABLE history (id TEXT NOT NULL) STRICT;
  INSERT INTO history VALUES (lower(hex(randomblob(16))));

  CREATE TABLE audit (
    -- AUTOINCREMENT: a cursor must not meet a position that was used before a prune.
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    action TEXT NOT NULL,
    outcome TEXT NOT NULL,
    client TEXT,
    tenant TEXT,
    retain_until INTEGER NOT NULL,
    entry TEXT NOT NULL
  ) STRICT;
  CREATE INDEX audit_retain_until ON audit (retain_until);
  -- One covering index for every filter: searches are as fast as with one index each, and a commit writes one page.
  CREATE INDEX audit_filter ON audit (position, at, action, outcome, client, tenant);

  CREATE TABLE audit_category (
    position INTEGER NOT NULL REFERENCES audit ON DELETE CASCADE,
    category TEXT NOT NULL,
    PRIMARY KEY (position, category)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE replay (
    key TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL,
    response TEXT NOT NULL,
    expires_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX replay_expires_at ON replay (expires_at);

  -- Short-lived messages between the processes.
  CREATE TABLE message (
    -- AUTOINCREMENT: a reader's position must not be used a second time.
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    sender TEXT NOT NULL,
    -- NULL for all.
    recipient TEXT,
    -- On the host's clock that is never set.
    sent_at INTEGER NOT NULL,
    body TEXT NOT NULL
  ) STRICT;

  PRAGMA application_id = ${APPLICATION_ID};
`;

const RECORDS = `
  -- Short texts that end by themselves: sessions of tokens, what each process announces.
  CREATE TABLE record (
    -- AUTOINCREMENT: a reader's position must not be used a second time.
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    -- On the host's clock that is never set.
    written_at INTEGER NOT NULL,
    UNIQUE (kind, key)
  ) STRICT;
  CREATE INDEX record_expires_at ON record (expires_at);
  PRAGMA user_version = ${VERSION};
`;

/** From version 1, which had a table for each kind of record. What processes announce is written again. */
const FROM_VERSION_1 = `${RECORDS}
  INSERT INTO record (kind, key, value, expires_at, written_at)
    SELECT 'session', id, current || char(10) || data, expires_at, 0 FROM token_session;
  INSERT INTO record (kind, key, value, expires_at, written_at)
    SELECT 'revocation', session, '', until, 0 FROM token_revocation ORDER BY position;
  DROP TABLE token_session;
  DROP TABLE token_revocation;
  DROP TABLE fleet;
  DROP TABLE category_list;
`;

/**
 * Opens the file, and creates it with mode 0600 if missing.
 * @param path absolute, since SQLite gives `:memory:` and `file:` URIs a special meaning
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` that says in one line what is wrong with the file
 */
export function openSqliteFile(path: string): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    makeWhereMissing(path);
    // Loaded lazily: importing this package must stay light, and Node 22 warns that node:sqlite is experimental.
    const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
    database = new DatabaseSync(path);
    prepareFile(database);
    return database;
  } catch (error) {
    database?.close();
    // The message leaves the path out: it ends in logs, and the operator knows the configuration.
    throw invalidStore(`the SQLite file ${problemOf(error)}`, error);
  }
}

/**
 * SQLite would create it readable for everyone; its -wal and -shm files copy the mode of this one. An existing file is
 * not even opened: closing it would release the locks of other connections in this process
 * (https://www.sqlite.org/howtocorrupt.html, section 2.2), and the write-ahead log with them.
 */
function makeWhereMissing(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) make(path);
  else if (found.isDirectory()) throw new FileRefusal('is a directory');
  else accessSync(path, constants.R_OK | constants.W_OK);
}

function make(path: string): void {
  try {
    closeSync(openSync(path, 'ax', 0o600));
  } catch (error) {
    // Another process was faster.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

function prepareFile(database: DatabaseSync): void {
  database.exec(`PRAGMA busy_timeout = ${OPEN_TIMEOUT_MS}`);
  refuseForeignFile(database);
  if (!switchToWal(database, OPEN_TIMEOUT_MS)) {
    throw new FileRefusal('is on a file system that SQLite cannot share between processes (no write-ahead log)');
  }
  // SQLite syncs log and file when it copies the log, and the handle the log before anything is acknowledged.
  database.exec('PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON');
  makeTables(database);
  // From here on nothing blocks the application's thread: see lock.ts.
  database.exec('PRAGMA busy_timeout = 0');
}

/** Prepares a statement that reads integers as bigints: reading one that a double cannot hold would throw otherwise. */
export function prepareRead(database: DatabaseSync, sql: string): StatementSync {
  const statement = database.prepare(sql);
  statement.setReadBigInts(true);
  return statement;
}

function pragma(database: DatabaseSync, name: string): unknown {
  return Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0];
}

function refuseForeignFile(database: DatabaseSync): void {
  // One transaction, because another process may be creating the file.
  database.exec('BEGIN');
  const tables = database.prepare('SELECT count(*) AS count FROM sqlite_schema').get()?.count;
  const owner = pragma(database, 'application_id');
  database.exec('COMMIT');
  if (owner === APPLICATION_ID || (owner === 0 && tables === 0)) return;
  throw new FileRefusal('is the SQLite database of another application');
}

function makeTables(database: DatabaseSync): void {
  if (versionOf(database) === VERSION) return;
  database.exec('BEGIN IMMEDIATE');
  try {
    // Read again under the lock: another process may have made them meanwhile.
    const version = versionOf(database);
    if (version === 0) database.exec(SCHEMA + RECORDS);
    if (version === 1) database.exec(FROM_VERSION_1);
    database.exec('COMMIT');
  } catch (error) {
    database.exec('ROLLBACK');
    throw error;
  }
}

/** 0 for a new file. */
function versionOf(database: DatabaseSync): number {
  const version = Number(pragma(database, 'user_version'));
  if (version >= 0 && version <= VERSION) return version;
  throw new FileRefusal(
    `was written by a newer release of this package (schema ${version}; this release knows ${VERSION})`,
  );
}

class FileRefusal extends Error {}

/** By SQLite's primary result code, or the operating system's. */
const WRONG_FILE: Readonly<Record<string | number, string>> = {
  [SQLITE_BUSY]: 'is locked by another program',
  8: 'cannot be written',
  10: 'cannot be read or written: I/O error',
  11: 'is damaged',
  13: 'cannot be written: the disk is full',
  14: 'cannot be opened',
  26: 'is not a SQLite database',
  ENOENT: 'cannot be created: its directory does not exist',
  ENOTDIR: 'cannot be created: its directory does not exist',
  EACCES: 'may not be written by this process',
  EPERM: 'may not be written by this process',
  EROFS: 'is on a file system that is read-only',
  ENOSPC: 'cannot be created: the disk is full',
};

function problemOf(error: unknown): string {
  const code = primaryCode(error) ?? (error as NodeJS.ErrnoException).code ?? '';
  return error instanceof FileRefusal ? error.message : (WRONG_FILE[code] ?? 'cannot be used');
}

/** Converts an error of a running store to one that says in words what an operator can act upon. */
export function storeError(error: unknown): unknown {
  const code = primaryCode(error);
  const problem = code === undefined ? undefined : WRONG_FILE[code];
  return problem === undefined ? error : new StoreOutage(`the SQLite file ${problem}`, { cause: error });
}

/** The longest pause between two attempts, in milliseconds. The first one is a twentieth, and each next one doubles. */
const MAX_PAUSE_MS = 20;

/** The primary result code of SQLite's error; `undefined` for any other. */
function primaryCode(error: unknown): number | undefined {
  const code = error instanceof Error ? Reflect.get(error, 'errcode') : undefined;
  return typeof code === 'number' ? code & 0xff : undefined;
}

/** Whether a statement failed because another process holds the lock. */
export function isBusy(error: unknown): boolean {
  return primaryCode(error) === SQLITE_BUSY;
}

/**
 * Switches a new file to a write-ahead log. SQLite does not always wait for the lock that this needs, whatever its busy
 * timeout, so it is repeated until the patience is over. Blocks the thread: it is for opening at the start.
 * @returns false on a file system that SQLite cannot share between processes
 */
function switchToWal(database: DatabaseSync, patienceMs: number): boolean {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    try {
      return database.prepare('PRAGMA journal_mode = WAL').get()?.journal_mode === 'wal';
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}

export interface RetryTimes {
  readonly monotonic: () => number;
  /** Keeps the process alive, because a caller waits for the work. */
  readonly sleep: (milliseconds: number) => Promise<unknown>;
  /** Returns a number from 0 to 1, for jitter: waiting processes do not retry at the same moment. */
  readonly random: () => number;
}

/**
 * Repeats work that meets another process's lock; rejects with SQLite's error when the patience is over. SQLite would
 * wait in the calling thread, which is the application's. Here an attempt never waits, and the event loop runs between
 * attempts.
 */
export async function retryWhileLocked<T>(
  patienceMs: number,
  work: () => T | Promise<T>,
  { monotonic, sleep, random }: RetryTimes,
): Promise<T> {
  const deadline = monotonic() + patienceMs;
  for (let longest = MAX_PAUSE_MS / 20; ; longest = Math.min(MAX_PAUSE_MS, longest * 2)) {
    try {
      return await work();
    } catch (error) {
      if (!isBusy(error) || monotonic() >= deadline) throw error;
    }
    await sleep(1 + random() * longest);
  }
}
