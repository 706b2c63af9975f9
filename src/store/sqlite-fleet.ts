import type { DatabaseSync } from 'node:sqlite';
import { type AnnouncedInstance, type FleetStore, type FleetView, GONE_MS, type Instance } from './fleet-store.ts';

/** How long an announcement waits for another process's lock, in milliseconds: the next one comes soon. */
const PATIENCE_MS = 50;

/** There is one history: a file that was replaced is another store. */
export const SQLITE_HISTORY = 'file';

export interface SqliteFleetOptions {
  /** Opens one more connection to the file. */
  readonly open: () => DatabaseSync;
  /** Version of the newest change that the subscribers of this handle were told. */
  readonly seen: () => number;
}

/** The fleet in a SQLite file, and what the store of the same handle tells it. */
export interface SqliteFleet extends FleetStore {
  /** The position has moved. */
  moved(): void;
  close(): void;
}

/**
 * The processes of one host in their file. They have a connection of their own that does not sync to disk: to live is
 * announced every second by each, and nobody misses it after a loss of power.
 */
export function createSqliteFleet({ open, seen }: SqliteFleetOptions): SqliteFleet {
  const movedListeners = new Set<{ readonly listener: () => void }>();
  let connection: ReturnType<typeof connect> | undefined;
  let closed = false;

  function connect() {
    if (closed) throw new Error('the SQLite store is closed');
    const database = open();
    database.exec(`PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = ${PATIENCE_MS}`);
    return {
      database,
      write: database.prepare('INSERT OR REPLACE INTO fleet (id, instance, applied, seen_at) VALUES (?, ?, ?, ?)'),
      remove: database.prepare('DELETE FROM fleet WHERE id = ?'),
      drop: database.prepare('DELETE FROM fleet WHERE abs(? - seen_at) > ?'),
      read: database.prepare('SELECT id, instance, applied, seen_at FROM fleet WHERE abs(? - seen_at) <= ?'),
      version: database.prepare('SELECT coalesce(max(version), 0) AS version FROM scope'),
    };
  }

  function connected() {
    connection ??= connect();
    return connection;
  }

  return {
    position: () => ({ history: SQLITE_HISTORY, revision: seen() }),

    onMoved(listener) {
      const entry = { listener };
      movedListeners.add(entry);
      return () => movedListeners.delete(entry);
    },

    moved() {
      for (const { listener } of movedListeners) listener();
    },

    async announce({ id, ...instance }, applied) {
      const { write, drop } = connected();
      const now = hostTime();
      write.run(id, JSON.stringify(instance), applied?.revision ?? null, now);
      drop.run(now, GONE_MS);
    },

    async withdraw(id) {
      connected().remove.run(id);
    },

    async look(): Promise<FleetView> {
      const { read, version } = connected();
      const now = hostTime();
      const current = { history: SQLITE_HISTORY, revision: Number(version.get()?.version) };
      const instances = read.all(now, GONE_MS).map((row): AnnouncedInstance => {
        const instance: Omit<Instance, 'id'> = JSON.parse(String(row.instance));
        const applied = row.applied === null ? {} : { applied: { ...current, revision: Number(row.applied) } };
        return { ...instance, id: String(row.id), ...applied, silentFor: Math.max(0, now - Number(row.seen_at)) };
      });
      return { current, instances };
    },

    // The file tells nobody; whoever waits looks again.
    onAnnounced: () => () => {},

    close() {
      closed = true;
      movedListeners.clear();
      connection?.database.close();
      connection = undefined;
    },
  };
}

/** Milliseconds of the host's clock that is never set; it is the same in all its processes. */
function hostTime(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}
