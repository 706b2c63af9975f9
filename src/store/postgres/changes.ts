import { timers } from '../../wire/time/timers.ts';
import type { ChangeFeed, Lineage, Reading } from '../lineage.ts';
import { oneAtATime } from '../one-at-a-time.ts';
import { allScopes, LOADED_AT_ONCE, scopesOf } from '../sql-rows.ts';
import type { StoredValues } from '../stored-values.ts';
import type { Query } from './connection.ts';

/** Later than every change: reads the lineage alone. */
const NO_CHANGES = Number.MAX_SAFE_INTEGER;

export interface ChangesOptions {
  readonly feed: ChangeFeed;
  readonly query: Query;
  readonly schema: string;
  readonly stored: StoredValues;
  /** Longest time between two reads, in milliseconds. */
  readonly pollMs: number;
  /** What else is read with the changes: a column, which may use `$2` and `$3`, and their values. */
  readonly aside: {
    readonly column: string;
    readonly values: () => readonly unknown[];
    receive(value: string | null): void;
  };
}

/** What is done in the same round trip as the read of the changes; its parameters begin at `$4`. */
export interface Before {
  readonly text: string;
  readonly column: string;
  readonly values: readonly unknown[];
}

export type Changes = ReturnType<typeof createChanges>;

export function createChanges({ feed, query, schema, stored, pollMs, aside }: ChangesOptions) {
  let closed = false;
  const timer = timers.setTimeout(resync, pollMs).unref();

  function resync(): void {
    sync().catch(() => {});
  }

  /** Reads what is newer than a version, in one statement. */
  async function read(version: number, before: Before = { text: '', column: 'NULL', values: [] }) {
    const sentAt = performance.now();
    const rows = await query(
      `${before.text}
       SELECT h.id AS history, h.version AS newest, h.head, h.cause, h.secret, ${schema}.clock() AS now,
         (SELECT a.id FROM ${schema}.audit a WHERE a.version = $1 LIMIT 1) AS head_then, ${aside.column} AS aside, ${before.column} AS done,
         s.key, s.revision, s.settings, s.changed_at
       FROM ${schema}.history h LEFT JOIN ${schema}.scope s ON s.version > $1 ORDER BY s.version`,
      [version, ...aside.values(), ...before.values],
    );
    const [row] = rows;
    if (row === undefined) throw new Error('PostgreSQL holds no history');
    feed.noteTime(Number(row.now), sentAt);
    feed.secret = row.secret ?? '';
    if (!closed) timer.refresh();
    aside.receive(row.aside ?? null);
    return {
      lineage: { history: String(row.history), version: Number(row.newest), head: row.head ?? '' },
      cause: row.cause === 'rollback' ? ('rollback' as const) : ('empty' as const),
      headThen: row.head_then ?? undefined,
      done: row.done,
      scopes: scopesOf(
        stored,
        rows.filter(({ key }) => key !== null),
      ),
    };
  }

  async function readAll(): Promise<Reading & { readonly cause: 'empty' | 'rollback' }> {
    const { lineage, cause } = await read(NO_CHANGES);
    const text = `SELECT key, revision, settings, changed_at FROM ${schema}.scope WHERE key > $1 ORDER BY key LIMIT ${LOADED_AT_ONCE}`;
    return { how: 'all', lineage, cause, scopes: await allScopes(stored, (key) => query(text, [key])) };
  }

  /** Reads what changed, and passes it on. Resolves with the result of what was done before. */
  async function synchronize(before?: Before): Promise<string | null | undefined> {
    const since = feed.lineage;
    const { lineage, headThen, scopes, done } = await read(since?.version ?? NO_CHANGES, before);
    if (since === undefined) {
      if (feed.isHeard) feed.apply(await readAll(), since);
      return done;
    }
    const hasForked = headThen !== undefined && since.head !== '' && headThen !== since.head;
    if (lineage.history !== since.history || lineage.version < since.version || hasForked) {
      await followReset(since, lineage);
    } else feed.apply({ how: 'changes', lineage, scopes }, since);
    return done;
  }

  /** A store that lost changes but kept its history takes a new one: all who still hold the lost changes hear of it. */
  async function followReset(since: Lineage, { history }: Lineage): Promise<void> {
    if (history === since.history) {
      const renew = `UPDATE ${schema}.history SET id = gen_random_uuid(), cause = 'rollback' WHERE id = $1`;
      await query(renew, [history]);
    }
    const found = await readAll();
    feed.apply({ ...found, how: found.cause }, since);
  }

  /** Includes everything that was committed before this call. */
  const sync = oneAtATime(async () => {
    try {
      await synchronize();
    } finally {
      if (!closed) timer.refresh();
    }
  });

  return {
    positions: {
      position: feed.position,
      onMoved: (listener: () => void) => feed.moved.add(listener),
      async newest() {
        const [row] = await query(`SELECT id, version FROM ${schema}.history`);
        const newest = { history: String(row?.id), revision: Number(row?.version) };
        const { history, revision } = feed.position() ?? {};
        if (history !== newest.history || revision !== newest.revision) resync();
        return newest;
      },
    },
    sync,
    resync,
    /** Runs other statements together with a read of the changes. */
    after: synchronize,

    async load() {
      const { lineage, scopes } = await readAll();
      feed.loaded(lineage);
      return scopes;
    },

    close() {
      closed = true;
      timers.clearTimeout(timer);
      feed.close();
    },
  };
}
