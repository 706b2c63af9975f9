import type { DatabaseSync } from 'node:sqlite';
import { type AnnouncedInstance, type FleetStore, type FleetView, GONE_MS, type Instance } from './fleet-store.ts';
import { hostTime } from './host-time.ts';
import type { SqliteHandle } from './sqlite-handle.ts';

export interface FleetStatements {
  readonly fleet: ReturnType<typeof prepareFleet>;
}

export interface SqliteFleetOptions {
  readonly handle: SqliteHandle<FleetStatements>;
  /** The id of the file's history. */
  readonly history: () => string;
  /** Version of the newest change that the subscribers of this handle received. */
  readonly seen: () => number;
}

/** The fleet in a SQLite file, as seen by the store of the same handle. */
export interface SqliteFleet extends FleetStore {
  /** Called when the position has moved. */
  moved(): void;
  close(): void;
}

/** Every process announces itself each second; losing one announcement to a power loss or a lock is harmless. */
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

/** The processes of one host that share a file. */
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
        // A position of another history does not count in this one.
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

    // A file sends no messages; waiting processes poll.
    onAnnounced: () => () => {},

    close: () => movedListeners.clear(),
  };
}
