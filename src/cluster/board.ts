import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';

/** How long a write waits for another process's, in milliseconds. The event loop waits with it. */
const BUSY_MS = 200;
/** Where the counts of processes that have ended are kept. */
const ENDED = '';
/** How many events are remembered as said. */
const MAX_SAID = 1000;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS calls (
    process TEXT, pid INTEGER, tenant TEXT, category TEXT, total REAL NOT NULL, rate REAL NOT NULL,
    PRIMARY KEY (process, tenant, category)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS address (
    service TEXT, wanted TEXT, pid INTEGER, url TEXT NOT NULL,
    PRIMARY KEY (service, wanted, pid)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS said (id INTEGER PRIMARY KEY, event TEXT NOT NULL UNIQUE) STRICT;
`;

/** Calls of one category, of everybody (tenant '') or of one tenant. */
export interface Calls {
  readonly tenant: string;
  readonly category: string;
  readonly total: number;
  readonly rate: number;
}

/** An address that a process listens on. */
export interface Address {
  /** What is served there. */
  readonly service: string;
  /** Host and port that it was to listen on. */
  readonly wanted: string;
  readonly url: string;
}

/** What the processes of a cluster tell each other of themselves. It lives as long as they do. */
export interface Board {
  /** Replaces what this process said of these categories. */
  publishCalls(calls: readonly Calls[]): void;
  /** Calls of the other processes, also of those that have ended, by category. */
  callsOfOthers(tenant: string): ReadonlyMap<string, { readonly total: number; readonly rate: number }>;
  publishAddress(address: Address): void;
  /** Addresses of processes that live, this one included. */
  addresses(service: string, wanted?: string): readonly { readonly pid: number; readonly url: string }[];
  /** Whether this process is the first to ask about an event, and so is to say it. True when that cannot be found out. */
  claim(event: string): boolean;
  /** This process takes nothing back but its addresses. */
  close(): void;
}

export interface BoardOptions {
  /** The same for all handles of one process, and for no other process, whatever its number. */
  readonly process: string;
  readonly pid: number;
  /** @default asks the operating system */
  readonly lives?: (pid: number) => boolean;
}

export function openBoard(folder: string, { process: self, pid, lives = isAlive }: BoardOptions): Board {
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
  const database: DatabaseSync = new DatabaseSync(join(folder, 'board.sqlite'), { timeout: BUSY_MS });
  // Nothing here outlives the processes, so nothing is synced to disk.
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; ${SCHEMA}`);

  const writeCalls = database.prepare(
    'INSERT OR REPLACE INTO calls (process, pid, tenant, category, total, rate) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const readCalls = database.prepare(
    `SELECT pid, category, sum(total) AS total, sum(rate) AS rate FROM calls WHERE tenant = ? AND process <> ?
     GROUP BY pid, category`,
  );
  const readProcesses = database.prepare('SELECT DISTINCT process, pid FROM calls WHERE process <> ?');
  const keepEnded = database.prepare(
    `INSERT INTO calls (process, pid, tenant, category, total, rate)
     SELECT '${ENDED}', 0, tenant, category, total, 0 FROM calls WHERE process = ?
     ON CONFLICT DO UPDATE SET total = calls.total + excluded.total`,
  );
  const dropCalls = database.prepare('DELETE FROM calls WHERE process = ?');
  const dropAddresses = database.prepare('DELETE FROM address WHERE pid = ?');
  const writeAddress = database.prepare(
    'INSERT OR REPLACE INTO address (service, wanted, pid, url) VALUES (?, ?, ?, ?)',
  );
  const readAddresses = database.prepare('SELECT wanted, pid, url FROM address WHERE service = ? ORDER BY pid');

  const claimEvent = database.prepare('INSERT OR IGNORE INTO said (event) VALUES (?)');
  const forgetEvents = database.prepare(`DELETE FROM said WHERE id <= ? - ${MAX_SAID}`);

  function transaction(work: () => void): void {
    database.exec('BEGIN IMMEDIATE');
    try {
      work();
      database.exec('COMMIT');
    } catch (error) {
      if (database.isTransaction) database.exec('ROLLBACK');
      throw error;
    }
  }

  // A total never goes down because a process ended. The number of one that did may be ours now.
  transaction(() => {
    for (const row of readProcesses.all(ENDED)) {
      if (row.process === self || (Number(row.pid) !== pid && lives(Number(row.pid)))) continue;
      keepEnded.run(String(row.process));
      dropCalls.run(String(row.process));
    }
  });

  return {
    publishCalls(calls) {
      if (calls.length === 0) return;
      transaction(() => {
        for (const { tenant, category, total, rate } of calls) {
          writeCalls.run(self, pid, tenant, category, total, rate);
        }
      });
    },

    callsOfOthers(tenant) {
      const found = new Map<string, { total: number; rate: number }>();
      for (const row of readCalls.all(tenant, self)) {
        const category = String(row.category);
        const { total, rate } = found.get(category) ?? { total: 0, rate: 0 };
        const now = Number(row.rate) > 0 && lives(Number(row.pid)) ? Number(row.rate) : 0;
        found.set(category, { total: total + Number(row.total), rate: rate + now });
      }
      return found;
    },

    publishAddress({ service, wanted, url }) {
      writeAddress.run(service, wanted, pid, url);
    },

    addresses(service, wanted) {
      return readAddresses
        .all(service)
        .filter((row) => wanted === undefined || row.wanted === wanted)
        .map((row) => ({ pid: Number(row.pid), url: String(row.url) }))
        .filter((found) => lives(found.pid));
    },

    claim(event) {
      if (!database.isOpen) return false;
      try {
        const { changes, lastInsertRowid } = claimEvent.run(event);
        if (changes === 0) return false;
        forgetEvents.run(lastInsertRowid);
      } catch {}
      return true;
    },

    close() {
      if (!database.isOpen) return;
      try {
        dropAddresses.run(pid);
      } finally {
        database.close();
      }
    },
  };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
