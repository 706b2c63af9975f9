import type { DatabaseSync } from 'node:sqlite';
import { type AnnouncedInstance, type FleetStore, type FleetView, GONE_MS, type Instance } from './fleet-store.ts';
import type { SqliteHandle } from './sqlite-handle.ts';

export interface FleetStatements {
  readonly fleet: ReturnType<typeof prepareFleet>;
}

export interface SqliteFleetOptions {
  readonly handle: SqliteHandle<FleetStatements>;
  /** Names what the file holds. */
  readonly history: () => string;
  /** Version of the newest change that the subscribers of this handle were told. */
  readonly seen: () => number;
}

/** The fleet in a SQLite file, and what the store of the same handle tells it. */
export interface SqliteFleet extends FleetStore {
  /** The position has moved. */
  moved(): void;
  close(): void;
}

/** To live is announced every second by each, and nobody misses it after a loss of power or while the file is locked. */
const IN_PASSING = { sync: false, urgency: 'background' } as const;

export function prepareFleet(database: DatabaseSync) {
  return {
    write: database.prepare('INSERT OR REPLACE INTO fleet (id, instance, applied, seen_at) VALUES (?, ?, ?, ?)'),
    remove: database.prepare('DELETE FROM fleet WHERE id = ?'),
    drop: database.prepare('DELETE FROM fleet WHERE abs(? - seen_at) > ?'),
    read: database.prepare('SELECT id, instance, applied, seen_at FROM fleet WHERE abs(? - seen_at) <= ?'),
    version: database.prepare('SELECT coalesce(max(version), 0) AS version FROM scope'),
  };
}

/** The processes of one host in their file. */
export function createSqliteFleet({ handle, history, seen }: SqliteFleetOptions): SqliteFleet {
  const { read, write } = handle;
  const movedListeners = new Set<{ readonly listener: () => void }>();

  return {
    position: () => ({ history: history(), revision: seen() }),

    onMoved(listener) {
      const entry = { listener };
      movedListeners.add(entry);
      return () => movedListeners.delete(entry);
    },

    moved() {
      for (const { listener } of movedListeners) listener();
    },

    announce: ({ id, ...instance }, applied) =>
      write(({ fleet }) => {
        const now = hostTime();
        // What was applied of another history is no part of this one.
        const revision = applied?.history === history() ? applied.revision : null;
        fleet.write.run(id, JSON.stringify(instance), revision, now);
        fleet.drop.run(now, GONE_MS);
      }, IN_PASSING),

    withdraw: (id) => write(({ fleet }) => void fleet.remove.run(id), IN_PASSING),

    look: () =>
      read(({ fleet }): FleetView => {
        const now = hostTime();
        const current = { history: history(), revision: Number(fleet.version.get()?.version) };
        const instances = fleet.read.all(now, GONE_MS).map((row): AnnouncedInstance => {
          const instance: Omit<Instance, 'id'> = JSON.parse(String(row.instance));
          const applied = row.applied === null ? {} : { applied: { ...current, revision: Number(row.applied) } };
          return { ...instance, id: String(row.id), ...applied, silentFor: Math.max(0, now - Number(row.seen_at)) };
        });
        return { current, instances };
      }),

    // The file tells nobody; whoever waits looks again.
    onAnnounced: () => () => {},

    close: () => movedListeners.clear(),
  };
}

/** Milliseconds of the host's clock that is never set; it is the same in all its processes. */
function hostTime(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}
