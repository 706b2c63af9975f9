import { diagnostics } from '../../otel/diagnostics.ts';
import { unwritten } from '../../wire/errors.ts';
import { ChangeFeed } from '../lineage.ts';
import { DeadlineError } from '../reconnecting.ts';
import { replayOf, scopeOf } from '../sql-rows.ts';
import type { Commit, CommitResult, StateStore } from '../state-store.ts';
import { encodeScope, replayed, StoredValues } from '../stored-values.ts';
import { columnsOf, createPostgresTrail } from './audit.ts';
import { createChanges } from './changes.ts';
import { connectionFrom, connectionTo, type PostgresLink, type PostgresPool, parameterOf } from './client.ts';
import { BrokenConnection, connectPostgres, postgresProblem, type Query, type Row, run } from './connection.ts';
import { createPostgresMessages } from './messages.ts';
import { createPostgresRecords } from './records.ts';
import { assertSchema, DEFAULT_SCHEMA, migrate } from './schema.ts';

/** A PostgreSQL database by its URL, or by a pool of the application. */
export type PostgresStoreOptions = {
  /**
   * Holds all that the store has in the database, and is made if missing: each of several services in one database needs its
   * own. @default 'rdcp', or the parameter `schema` of the URL
   */
  readonly schema?: string;
  /**
   * A role that may own the schema, beside the user of the connection, the owner of the database and superusers. Its functions run
   * with the rights of this service. @default none, or the parameter `owner` of the URL
   */
  readonly owner?: string;
  /** Deadline of a statement, in milliseconds. @default 1000 */
  readonly deadlineMs?: number;
  /** Longest time between two reads of what changed, in milliseconds. @default 1100 */
  readonly pollMs?: number;
} & (
  | {
      /**
       * `postgres://[user:password@]host[:port]/database`, with the parameters of the `pg` package, such as `sslmode`. The
       * store opens one connection and closes it.
       */
      readonly url: string;
    }
  | {
      /** A `Pool` of the `pg` package that the application closes. The store keeps one of its clients while it is open. */
      readonly pool: PostgresPool;
    }
);

/** The server gives up a statement before its deadline, so that the connection stays of use. */
const SERVER_DEADLINE = 0.8;

/**
 * State shared by a fleet through PostgreSQL. A commit is one transaction of state, audit entry and kept answer, and
 * as durable as the database. Other processes learn of it by NOTIFY, at the latest with their next read, a second later.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` for an invalid URL, for anything but a pool of `pg`, or when the `pg` package is not
 * installed
 */
export function createPostgresStore(options: PostgresStoreOptions): StateStore {
  const { deadlineMs = 1_000, pollMs = 1_100 } = options;
  const { open, name, owner } = openerOf(options);
  const schema = `"${name}"`;
  const patience = String(Math.ceil(deadlineMs * SERVER_DEADLINE));
  const stored = new StoredValues();
  let isPooled = false;
  const warned = new Set<string>();
  /** The entry and the kept answer of the last commit that failed, until such a commit would be taken. */
  let failed: string | undefined;

  const connection = connectPostgres({ open, deadlineMs, established });
  const { query } = connection;
  const feed = new ChangeFeed('PostgreSQL');
  const messages = createPostgresMessages({
    query,
    schema,
    channel: name,
    polls: () => isPooled,
    known: feed,
    flooded: () =>
      warnOnce('too many notifications in PostgreSQL: messages of other processes may be lost (docs/messages.md)'),
  });
  const changes = createChanges({ feed, query, schema, stored, pollMs, aside: messages.aside });
  const trail = createPostgresTrail(query, schema);
  const hint = `${name}:changed`;

  async function established(connected: PostgresLink, query: Query): Promise<void> {
    const [server] = await query('SELECT pg_backend_pid() AS pid, pg_is_in_recovery() AS is_standby');
    if (server?.is_standby === 't') throw Object.assign(new Error('a standby'), { code: '25006', severity: 'ERROR' });
    await migrate(query, name, owner);
    // A pooler tells an id of its own. What is set for a session would then be set for others.
    isPooled = Number(server?.pid) !== connected.processID;
    if (isPooled) {
      warnOnce('a pooler is before PostgreSQL: changes and messages of other processes are read once a second');
    } else {
      connected.on('notification', (message) => (message.channel === hint ? changes.resync() : messages.hear(message)));
      await query(`SET statement_timeout = ${patience}`);
      // What others have created elsewhere in the database is never found in the place of PostgreSQL's own functions.
      await query('SET search_path = pg_catalog, pg_temp');
      for (const channel of [hint, ...messages.store.channels]) await query(`LISTEN "${channel}"`);
    }
    queueMicrotask(changes.resync);
  }

  function warnOnce(problem: string): void {
    if (warned.has(problem)) return;
    warned.add(problem);
    diagnostics.warn(`rdcp: ${problem}`);
  }

  async function commit({ state, audit, replay, now }: Commit): Promise<CommitResult> {
    const { time, lineage: { history, version } = {} } = feed;
    const written = {
      now,
      audit: columnsOf(audit),
      ...(replay && { replay: { ...replay, expires_at: replay.expiresAt } }),
    };
    const change = JSON.stringify({
      ...written,
      history,
      version,
      lateAfter: time === undefined ? undefined : Math.ceil(time + deadlineMs),
      channel: hint,
      ...(state && { scope: state.scope, expected: state.expectedRevision, settings: encodeScope(state) }),
    });
    const send = () => query(`SELECT ${schema}.commit($1, $2) AS result`, [change, patience]);
    // Where the connection broke, the entry's id tells whether it was made; nothing is made twice, or late.
    let broken: unknown;
    const [row] = await send()
      .catch((error: unknown) => {
        if (!(error instanceof BrokenConnection)) throw error;
        broken = error;
        return send();
      })
      .catch((error: unknown) => {
        failed = JSON.stringify(written);
        throw broken ?? (isAnswerLost(error) ? error : unwritten(error));
      });
    const result = JSON.parse(row?.result ?? '{}') as CommitAnswer;
    switch (result.outcome) {
      case 'conflict': {
        const { current } = result;
        return { outcome: 'conflict', current: scopeOf(stored, current?.key == null ? undefined : current) };
      }
      case 'replayed':
        return replayed(String(result.replay.key), replayOf(stored, result.replay));
      case 'committed': {
        const { history, revision, version } = result;
        if (revision === null || version === null) return { outcome: 'committed' };
        changes.resync();
        return { outcome: 'committed', revision, position: { history, revision: version } };
      }
      default:
        await changes.sync().catch(() => {});
        throw unwritten(
          new Error(
            result.outcome === 'lost'
              ? 'PostgreSQL has lost changes that it had acknowledged; its state is read again'
              : `PostgreSQL did not reach the commit within ${deadlineMs} ms`,
          ),
        );
    }
  }

  return {
    name: 'postgres',
    shared: true,
    records: createPostgresRecords({
      query,
      schema,
      stored,
      changes,
      polls: () => (isPooled ? messages.store.address : undefined),
    }),
    positions: changes.positions,
    messages: messages.store,
    load: () => changes.load(),
    commit,

    async findReplay(key, now) {
      const [row] = await query(`SELECT * FROM ${schema}.replay WHERE key = $1 AND expires_at > $2`, [key, now]);
      return row && replayOf(stored, row);
    },

    subscribe: (listener) => feed.subscribe(listener, changes.resync),
    onReset: (listener) => feed.resets.add(listener),
    onMalformed: (listener) => stored.malformed.add(listener),
    queryAudit: (query) => trail.page(query),
    newestAudit: () => trail.newest(),
    pruneAudit: (...args) => trail.prune(...args),

    async check() {
      // A standby, a full disk and a user who may only read answer reads and refuse writes.
      await query(`UPDATE ${schema}.history SET cause = cause`);
      // On a full disk that is still taken.
      if (failed !== undefined) await query(`SELECT ${schema}.attempt($1, $2)`, [failed, patience]);
      failed = undefined;
      await changes.sync();
    },

    async close() {
      changes.close();
      messages.store.close();
      stored.malformed.clear();
      connection.close();
    },
  };
}

/**
 * Brings the schema of a database to this release's version, as every process does at its start.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID`
 */
export async function migratePostgres(url: string): Promise<{ schema: string; from: number; to: number }> {
  const { open, name, owner } = openerOf({ url });
  const connected = await open(MIGRATION_MS).catch((error: unknown) => {
    throw postgresProblem(error);
  });
  try {
    return { schema: name, ...(await migrate((text, values) => run(connected, text, values), name, owner)) };
  } catch (error) {
    throw postgresProblem(error);
  } finally {
    connected.close();
  }
}

const MIGRATION_MS = 10_000;

function openerOf(options: PostgresStoreOptions) {
  const isUrl = 'url' in options;
  const name = options.schema ?? (isUrl ? parameterOf(options.url, 'schema') : undefined) ?? DEFAULT_SCHEMA;
  const owner = options.owner ?? (isUrl ? parameterOf(options.url, 'owner') : undefined);
  assertSchema(name);
  return { name, owner, open: isUrl ? connectionTo(options.url) : connectionFrom(options.pool) };
}

/** The answer of the function `commit`. */
type CommitAnswer =
  | { readonly outcome: 'late' | 'lost' }
  | { readonly outcome: 'conflict'; readonly current: Row | null }
  | { readonly outcome: 'replayed'; readonly replay: Row }
  | {
      readonly outcome: 'committed';
      readonly history: string;
      readonly revision: number | null;
      readonly version: number | null;
    };

function isAnswerLost(error: unknown): boolean {
  return error instanceof BrokenConnection || error instanceof DeadlineError;
}
