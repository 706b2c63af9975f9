import { hostname } from 'node:os';
import type { DatabaseSync } from 'node:sqlite';
import {
  type AnnouncedInstance,
  type FleetStore,
  type FleetView,
  FORGOTTEN_MS,
  type Position,
} from '../fleet-store.ts';
import type { Listeners } from '../listeners.ts';
import type { StoredValues } from '../stored-values.ts';
import { prepareRead } from './file.ts';
import { hostTime, IN_PASSING, type SqliteHandle } from './handle.ts';

export interface FleetStatements {
  readonly fleet: ReturnType<typeof prepareFleet>;
}

/** The position that the subscribers of a handle have received everything up to. */
export interface SqlitePosition {
  readonly current: () => Position;
  readonly moved: Listeners<[]>;
}

export function prepareFleet(database: DatabaseSync) {
  return {
    write: database.prepare('INSERT OR REPLACE INTO fleet (id, instance, applied, seen_at) VALUES (?, ?, ?, ?)'),
    remove: database.prepare('DELETE FROM fleet WHERE id = ?'),
    drop: database.prepare('DELETE FROM fleet WHERE abs(? - seen_at) > ?'),
    read: prepareRead(database, 'SELECT id, instance, applied, seen_at FROM fleet WHERE abs(? - seen_at) <= ?'),
    version: prepareRead(database, 'SELECT coalesce(max(version), 0) AS version FROM scope'),
    publish: database.prepare('INSERT OR REPLACE INTO category_list (id, list) VALUES (?, ?)'),
    dropLists: database.prepare('DELETE FROM category_list WHERE id NOT IN (SELECT id FROM fleet)'),
    list: prepareRead(database, 'SELECT list FROM category_list WHERE id = ?'),
  };
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** The processes of one host that share a file. */
export function createSqliteFleet(
  { read, write }: SqliteHandle<FleetStatements>,
  stored: StoredValues,
  { current, moved }: SqlitePosition,
): FleetStore {
  return {
    position: current,

    onMoved: (listener) => moved.add(listener),

    // Losing one of an instance's announcements is harmless.
    announce: ({ id, ...instance }, applied) =>
      write(({ fleet }) => {
        const now = hostTime();
        fleet.write.run(id, JSON.stringify(instance), applied?.revision ?? null, now);
        fleet.drop.run(now, FORGOTTEN_MS);
      }, IN_PASSING),

    withdraw: (id) =>
      write(({ fleet }) => {
        fleet.remove.run(id);
        fleet.dropLists.run();
      }, IN_PASSING),

    look: () =>
      read(({ fleet }): FleetView => {
        const now = hostTime();
        const { history } = current();
        const instances = fleet.read.all(now, FORGOTTEN_MS).flatMap((row): AnnouncedInstance[] => {
          const instance = stored.instance(String(row.instance));
          if (instance === undefined) return [];
          const applied = row.applied === null ? undefined : stored.position(history, Number(row.applied));
          const silentFor = Math.abs(now - Number(row.seen_at));
          return [{ ...instance, id: String(row.id), ...(applied && { applied }), silentFor }];
        });
        return { current: { history, revision: Number(fleet.version.get()?.version) }, instances };
      }),

    // A file sends no messages; waiting processes poll.
    onAnnounced: () => () => {},

    // The processes of a file are those of its host. A container has a host name of its own.
    hasEnded: ({ host, pid }) => host === hostname() && !isRunning(pid),

    categories: {
      publish: (id, list) =>
        write(({ fleet }) => {
          fleet.publish.run(id, list);
          fleet.dropLists.run();
        }, IN_PASSING),

      read: (ids) =>
        read(({ fleet }) => {
          const rows = ids.map((id) => [id, fleet.list.get(id)?.list] as const);
          return new Map(rows.flatMap(([id, list]) => (list === undefined ? [] : [[id, String(list)]])));
        }),
    },
  };
}
