import { type AnnouncedInstance, type FleetStore, FORGOTTEN_MS } from '../fleet-store.ts';
import type { StoredValues } from '../stored-values.ts';
import type { Changes } from './changes.ts';
import type { Query } from './connection.ts';

export interface PostgresFleetOptions {
  readonly query: Query;
  /** The schema, as statements have it. */
  readonly schema: string;
  readonly stored: StoredValues;
  readonly changes: Pick<Changes, 'position' | 'moved' | 'after' | 'resync'>;
  /** Whether no NOTIFY reaches this handle. */
  readonly polls: () => boolean;
}

/**
 * The processes that share a database. An announcement reads the changes too, so that an idle process sends one statement a
 * second. It sends no NOTIFY, which would wake every process: a process that waits for others reads them.
 */
export function createPostgresFleet({ query, schema, stored, changes, polls }: PostgresFleetOptions): FleetStore {
  return {
    position: changes.position,

    onMoved: (listener) => changes.moved.add(listener),

    announce: ({ id, ...instance }, applied) =>
      changes.after({
        text: `WITH announced AS (
          INSERT INTO ${schema}.fleet (id, instance, history, version, polls, seen_at)
          VALUES ($4, $5, $6, $7, $8, ${schema}.clock())
          ON CONFLICT (id) DO UPDATE SET instance = excluded.instance, history = excluded.history,
            version = excluded.version, polls = excluded.polls, seen_at = excluded.seen_at)`,
        values: [id, JSON.stringify(instance), applied?.history ?? null, applied?.revision ?? null, polls()],
      }),

    async withdraw(id) {
      await query(
        `WITH gone AS (DELETE FROM ${schema}.fleet WHERE id = $1)
         DELETE FROM ${schema}.category_list WHERE id = $1`,
        [id],
      );
    },

    async look() {
      const rows = await query(
        `WITH silent AS (
           SELECT id, instance, history, version, abs(${schema}.clock() - seen_at) AS silent_for FROM ${schema}.fleet
         ), gone AS (
           DELETE FROM ${schema}.fleet WHERE id IN (SELECT id FROM silent WHERE silent_for > $1) RETURNING id
         ), lists AS (DELETE FROM ${schema}.category_list WHERE id IN (SELECT id FROM gone))
         SELECT h.id AS current, h.version AS newest, s.*
         FROM ${schema}.history h LEFT JOIN silent s ON s.silent_for <= $1`,
        [FORGOTTEN_MS],
      );
      const current = { history: String(rows[0]?.current), revision: Number(rows[0]?.newest) };
      const { history, revision } = changes.position() ?? {};
      if (history !== current.history || revision !== current.revision) changes.resync();
      const instances = rows.flatMap((row): AnnouncedInstance[] => {
        const instance = row.id === null ? undefined : stored.instance(row.instance ?? '');
        if (instance === undefined) return [];
        const applied = row.history === null ? undefined : stored.position(row.history, Number(row.version));
        return [{ ...instance, id: String(row.id), ...(applied && { applied }), silentFor: Number(row.silent_for) }];
      });
      return { current, instances };
    },

    onAnnounced: () => () => {},

    categories: {
      async publish(id, list) {
        await query(
          `INSERT INTO ${schema}.category_list (id, list) VALUES ($1, $2)
           ON CONFLICT (id) DO UPDATE SET list = excluded.list`,
          [id, list],
        );
      },

      async read(ids) {
        const rows = await query(`SELECT id, list FROM ${schema}.category_list WHERE id = ANY ($1)`, [ids]);
        return new Map(rows.map(({ id, list }) => [String(id), String(list)]));
      },
    },
  };
}
