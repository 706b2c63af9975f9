import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { switchToWal } from '../../store/sqlite/lock.ts';

/** How long opening waits for the other processes that start at the same time, in milliseconds. Blocks the event loop. */
const OPEN_MS = 5000;
/** How long a write waits for a lock, in milliseconds. Blocks the event loop. */
const BUSY_MS = 200;
/** Process key for the counts of processes that have ended. */
const ENDED = '';
/** Maximum number of claimed events that are remembered. */
const MAX_CLAIMED = 1000;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS calls (
    process TEXT, pid INTEGER, tenant TEXT, category TEXT, total REAL NOT NULL, rate REAL NOT NULL,
    PRIMARY KEY (process, tenant, category)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS address (
    service TEXT, wanted TEXT, pid INTEGER, url TEXT NOT NULL,
    PRIMARY KEY (service, wanted, pid)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS handed_over (key TEXT PRIMARY KEY, value TEXT NOT NULL, until REAL NOT NULL)
    STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS said (id INTEGER PRIMARY KEY, event TEXT NOT NULL UNIQUE) STRICT;
`;

/** Calls of one category, in total (tenant '') or of one tenant. */
export interface Calls {
  readonly tenant: string;
  readonly category: string;
  readonly total: number;
  readonly rate: number;
}

/** An address that a process listens on. */
export interface Address {
  /** Name of the service. */
  readonly service: string;
  /** Configured host and port. */
  readonly wanted: string;
  readonly url: string;
}

/** Data shared by the processes of a cluster. Deleted with the last of them. */
export interface Board {
  /** Replaces this process's counts of these categories. */
  publishCalls(calls: readonly Calls[]): void;
  /** Returns the calls of the other processes by category, including ended ones. */
  callsOfOthers(tenant: string): ReadonlyMap<string, { readonly total: number; readonly rate: number }>;
  publishAddress(address: Address): void;
  /** Returns the addresses of running processes, including this one, in the order in which they were published. */
  addresses(service: string, wanted?: string): readonly { readonly pid: number; readonly url: string }[];
  /** Returns whether this process is the first to claim an event, and so reports it. True when the board fails. */
  claim(event: string): boolean;
  /** Keeps a value for the first process that asks for it. @param until wall time, in milliseconds since the epoch */
  handOver(key: string, value: string, until: number): void;
  /** The value that was handed over, once; `undefined` when there is none, or its time is over. @param now as `until` */
  take(key: string, now: number): string | undefined;
  /** Removes this process's addresses. Its counts stay. */
  close(): void;
}

export interface BoardOptions {
  /** Unique id of the process, even if pids are reused. The same for all handles of one process. */
  readonly process: string;
  readonly pid: number;
  /** Whether a process is running. @default asks the operating system */
  readonly isRunning?: (pid: number) => boolean;
}

export function openBoard(folder: string, { process: self, pid, isRunning = isAlive }: BoardOptions): Board {
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
  const database: DatabaseSync = new DatabaseSync(join(folder, 'board.sqlite'), { timeout: OPEN_MS });
  try {
    switchToWal(database, OPEN_MS);
    // The data does not outlive the processes, so nothing is synced to disk.
    database.exec(`PRAGMA synchronous = OFF; ${SCHEMA}`);
  } catch (error) {
    database.close();
    throw error;
  }

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
  const readAddresses = database.prepare('SELECT wanted, pid, url FROM address WHERE service = ? ORDER BY rowid');

  const keepValue = database.prepare('INSERT OR REPLACE INTO handed_over (key, value, until) VALUES (?, ?, ?)');
  const takeValue = database.prepare('DELETE FROM handed_over WHERE key = ? RETURNING value, until');
  const dropOldValues = database.prepare('DELETE FROM handed_over WHERE until <= ?');
  const claimEvent = database.prepare('INSERT OR IGNORE INTO said (event) VALUES (?)');
  const forgetEvents = database.prepare(`DELETE FROM said WHERE id <= ? - ${MAX_CLAIMED}`);

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

  // Totals must not drop when a process ends. An ended process may have had our pid.
  transaction(() => {
    for (const row of readProcesses.all(ENDED)) {
      if (row.process === self || (Number(row.pid) !== pid && isRunning(Number(row.pid)))) continue;
      keepEnded.run(String(row.process));
      dropCalls.run(String(row.process));
    }
  });
  database.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);

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
        const now = Number(row.rate) > 0 && isRunning(Number(row.pid)) ? Number(row.rate) : 0;
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
        .filter((found) => isRunning(found.pid));
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

    handOver(key, value, until) {
      keepValue.run(key, value, until);
    },

    take(key, now) {
      const [found] = takeValue.all(key);
      dropOldValues.run(now);
      return found !== undefined && Number(found.until) > now ? String(found.value) : undefined;
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
