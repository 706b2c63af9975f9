import { invalidStore } from '../invalid.ts';
import type { Query } from './connection.ts';

/** Holds everything that the store has in its database. */
export const DEFAULT_SCHEMA = 'rdcp';

/** Longest name of a schema: with an address, it names a channel of at most 63 bytes. */
const NAME = /^[a-z_][a-z0-9_]{0,39}$/;

/** Messages at most in the table, which holds them for {@link MESSAGE_MS}. */
const MAX_MESSAGES = 500;
/** Every process reads once a second. */
const MESSAGE_MS = 3000;
/** Longest payload of NOTIFY, in bytes. */
const MAX_PAYLOAD = 7999;

/** @throws {RdcpError} `RDCP_CONFIG_INVALID` */
export function assertSchema(name: string): void {
  if (NAME.test(name)) return;
  throw invalidStore('postgres: schema must be at most 40 lower-case letters, digits and underscores');
}

/** The versions of the schema, each made from the one before. Their statements see the schema alone. */
const VERSIONS = [
  `
-- One row. A transaction that holds its lock writes in an order that all readers see: state, trail and revocations.
CREATE TABLE history (
  -- Of the content: new when the database was found empty, or has lost changes.
  id text NOT NULL DEFAULT gen_random_uuid(),
  cause text NOT NULL DEFAULT 'empty',
  -- Counts the changes of all scopes; head is the id of the audit entry of the last one.
  version bigint NOT NULL DEFAULT 0,
  head text NOT NULL DEFAULT '',
  -- Messages between processes are sealed with it.
  secret text NOT NULL DEFAULT replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '')
);
INSERT INTO history DEFAULT VALUES;

CREATE TABLE scope (
  key text COLLATE "C" PRIMARY KEY,
  revision bigint NOT NULL,
  settings text NOT NULL,
  changed_at bigint NOT NULL,
  -- That of history at its last change.
  version bigint NOT NULL UNIQUE
);

CREATE TABLE audit (
  position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text NOT NULL,
  at timestamptz NOT NULL,
  action text NOT NULL,
  outcome text NOT NULL,
  user_id text,
  client_id text,
  tenant text,
  categories text[] NOT NULL,
  reason text,
  request_id text,
  -- The chain of the process that wrote it.
  instance text NOT NULL,
  sequence bigint NOT NULL,
  retain_until timestamptz NOT NULL,
  -- As it was sealed: JSON may hold \\u0000, which json and jsonb do not convert.
  entry text NOT NULL,
  -- Of the change of state that was committed with it.
  revision bigint,
  version bigint
);
CREATE INDEX audit_id ON audit (id);
CREATE INDEX audit_at ON audit (at);
CREATE INDEX audit_retain_until ON audit (retain_until);
CREATE INDEX audit_version ON audit (version) WHERE version IS NOT NULL;

-- The trail for people and their tools. Its columns stay as they are in later versions.
CREATE VIEW trail AS
  SELECT position, at, action, outcome, categories, user_id, client_id, tenant, reason, request_id, instance, sequence,
    revision AS scope_revision, retain_until, entry
  FROM audit;

CREATE TABLE replay (
  key text PRIMARY KEY,
  fingerprint text NOT NULL,
  response text NOT NULL,
  expires_at double precision NOT NULL
);
CREATE INDEX replay_expires_at ON replay (expires_at);

CREATE UNLOGGED TABLE message (
  position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  recipient text,
  body text NOT NULL,
  sent_at bigint NOT NULL
);

-- Milliseconds since the epoch.
CREATE FUNCTION clock() RETURNS bigint LANGUAGE sql VOLATILE
  AS 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint';

-- A change of state, its audit entry and the answer that is kept, in one step. What was committed under the entry's id
-- before is answered again: its answer was lost.
CREATE FUNCTION commit(change json, patience text) RETURNS json LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  past history;
  made audit;
  kept replay;
  present scope;
  made_at double precision := change->>'now';
  next bigint;
BEGIN
  PERFORM set_config('lock_timeout', patience, true);
  SELECT * INTO past FROM history FOR UPDATE;
  SELECT * INTO made FROM audit WHERE id = change->'audit'->>'id';
  IF FOUND THEN
    RETURN json_build_object('outcome', 'committed', 'history', past.id, 'revision', made.revision, 'version', made.version);
  END IF;
  -- The caller has given up waiting and reported a failure.
  IF clock() > (change->>'lateAfter')::bigint THEN RETURN json_build_object('outcome', 'late'); END IF;
  IF past.id <> change->>'history' OR past.version < (change->>'version')::bigint THEN
    RETURN json_build_object('outcome', 'lost');
  END IF;
  IF change->'replay' IS NOT NULL THEN
    SELECT * INTO kept FROM replay WHERE key = change->'replay'->>'key' AND expires_at > made_at;
    IF FOUND THEN RETURN json_build_object('outcome', 'replayed', 'replay', row_to_json(kept)); END IF;
  END IF;
  IF change->'scope' IS NOT NULL THEN
    SELECT * INTO present FROM scope WHERE key = change->>'scope';
    IF coalesce(present.revision, 0) <> (change->>'expected')::bigint THEN
      RETURN json_build_object('outcome', 'conflict', 'current', row_to_json(present));
    END IF;
    next := past.version + 1;
    INSERT INTO scope
      VALUES (change->>'scope', (change->>'expected')::bigint + 1, change->>'settings', made_at::bigint, next)
      ON CONFLICT (key) DO UPDATE SET revision = excluded.revision, settings = excluded.settings,
        changed_at = excluded.changed_at, version = excluded.version;
    UPDATE history SET version = next, head = change->'audit'->>'id';
    PERFORM pg_notify(change->>'channel', next::text);
  END IF;
  INSERT INTO audit (id, at, action, outcome, user_id, client_id, tenant, categories, reason, request_id, instance,
      sequence, retain_until, entry, revision, version)
    SELECT id, at, action, outcome, user_id, client_id, tenant, categories, reason, request_id, instance,
      sequence, retain_until, entry, (change->>'expected')::bigint + 1, next
    FROM json_populate_record(NULL::audit, change->'audit');
  IF change->'replay' IS NOT NULL THEN
    DELETE FROM replay WHERE expires_at <= made_at;
    INSERT INTO replay SELECT * FROM json_populate_record(NULL::replay, change->'replay')
      ON CONFLICT (key) DO UPDATE SET fingerprint = excluded.fingerprint, response = excluded.response,
        expires_at = excluded.expires_at;
  END IF;
  RETURN json_build_object('outcome', 'committed', 'history', past.id, 'revision', (change->>'expected')::bigint + 1,
    'version', next);
END $$;

-- Whether a commit would be taken: makes it, and takes it back.
CREATE FUNCTION attempt(change json, patience text) RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM commit(change, patience);
  RAISE SQLSTATE 'RD000';
EXCEPTION WHEN SQLSTATE 'RD000' THEN NULL;
END $$;
`,
  `
-- Short texts that end by themselves: sessions of tokens, what each process announces.
CREATE TABLE records (
  kind text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  -- As JSON: a text of PostgreSQL has no NUL.
  value text NOT NULL,
  expires_at double precision NOT NULL,
  written_at bigint NOT NULL,
  position bigint GENERATED ALWAYS AS IDENTITY,
  PRIMARY KEY (kind, key)
) WITH (fillfactor = 50);

-- Writes all, or none where one is not as expected. Those that last take turns, so that positions become visible in their
-- order; the others, which each process writes every second, do not wait for the disk. A poller is a process that no NOTIFY reaches.
CREATE FUNCTION write_records(writes json, made_at double precision, lasts boolean, poller text DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  given record;
  present text;
BEGIN
  IF lasts THEN PERFORM FROM history FOR UPDATE;
  ELSE PERFORM set_config('synchronous_commit', 'off', true);
  END IF;
  FOR given IN SELECT * FROM json_to_recordset(writes) AS w (kind text, key text, compares boolean, expected text)
    WHERE compares LOOP
    SELECT r.value INTO present FROM records r
      WHERE r.kind = given.kind AND r.key = given.key AND r.expires_at > made_at FOR UPDATE;
    IF present IS DISTINCT FROM given.expected THEN RETURN false; END IF;
  END LOOP;
  FOR given IN SELECT * FROM json_to_recordset(writes) AS w (kind text, key text, value text, expires_at double precision)
    UNION ALL SELECT 'poller', poller, '', made_at + 5000 WHERE poller IS NOT NULL LOOP
    IF given.value IS NULL THEN
      DELETE FROM records r WHERE r.kind = given.kind AND r.key = given.key;
      CONTINUE;
    END IF;
    UPDATE records r SET value = given.value, expires_at = given.expires_at, written_at = clock(),
      position = DEFAULT WHERE r.kind = given.kind AND r.key = given.key;
    CONTINUE WHEN FOUND;
    DELETE FROM records r WHERE r.kind = given.kind AND r.expires_at <= made_at;
    INSERT INTO records (kind, key, value, expires_at, written_at)
      VALUES (given.kind, given.key, given.value, given.expires_at, clock())
      ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at,
        written_at = excluded.written_at, position = DEFAULT;
  END LOOP;
  RETURN true;
END $$;

-- A message to all, or to one. A short one goes by NOTIFY; a long one, and any while a process reads the table, by the
-- table, whose senders take turns, so that positions are read in their order.
CREATE OR REPLACE FUNCTION send(channel text, receiver text, body text, to_table boolean) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  long boolean := octet_length(body) > ${MAX_PAYLOAD};
  place bigint;
BEGIN
  IF long OR to_table OR EXISTS (SELECT FROM records WHERE kind = 'poller' AND abs(clock() - written_at) < 5000) THEN
    PERFORM pg_advisory_xact_lock('message'::regclass::oid::bigint);
    INSERT INTO message (recipient, body, sent_at) VALUES (receiver, body, clock()) RETURNING position INTO place;
    DELETE FROM message WHERE abs(clock() - sent_at) > ${MESSAGE_MS} OR position <= place - ${MAX_MESSAGES};
  END IF;
  PERFORM pg_notify(channel, CASE WHEN long THEN place::text ELSE body END);
END $$;

-- Version 1 had a table for each kind of record. What processes announce is written again.
DO $$ BEGIN
  IF EXISTS (SELECT FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'token_session') THEN
    INSERT INTO records (kind, key, value, expires_at, written_at)
      SELECT 'session', id, '"' || current || '\\n' || substr(data, 2), expires_at, 0 FROM token_session;
    INSERT INTO records (kind, key, value, expires_at, written_at)
      SELECT 'revocation', session, '""', until, 0 FROM token_revocation ORDER BY position;
    DROP TABLE token_session, token_revocation, fleet, category_list;
    DROP FUNCTION rotate_session, revoke_session;
  END IF;
END $$;
`,
];

/** The versions of a schema before and after a migration; 0 where it was missing. */
export interface Migration {
  readonly from: number;
  readonly to: number;
}

/**
 * Brings a schema to this release's version, in one transaction. Processes that do so at once wait for the first.
 * @param run statements of one connection
 * @param owner a role that is trusted beside this user, the database's owner and superusers
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` if the schema, a table or a function of it belongs to somebody else
 */
export async function migrate(run: Query, schema: string, owner?: string): Promise<Migration> {
  await assertOwned(run, schema, owner);
  const to = VERSIONS.length;
  const found = await versionOf(run, schema);
  if (found === to) return { from: to, to };
  await run('BEGIN');
  try {
    await run("SELECT set_config('statement_timeout', '0', true), pg_advisory_xact_lock(hashtext($1))", [schema]);
    const from = await versionOf(run, schema);
    if (from > to) throw invalidStore(`postgres: the schema ${schema} was made by a newer release`);
    if (from === 0) await run(`CREATE SCHEMA IF NOT EXISTS "${schema}"`);
    await run(`SET LOCAL search_path = "${schema}"`);
    for (const statements of VERSIONS.slice(from)) await run(statements);
    await run('CREATE TABLE IF NOT EXISTS schema_version AS SELECT 0 AS version');
    await run('UPDATE schema_version SET version = $1', [to]);
    await run('COMMIT');
    return { from, to };
  } catch (error) {
    await run('ROLLBACK').catch(() => {});
    throw error;
  }
}

/**
 * Checks the owner of a schema before anything in it is used: a role that may create schemas could have made it first, with
 * functions that run with the rights of this service.
 */
async function assertOwned(run: Query, schema: string, owner: string | undefined): Promise<void> {
  const strangers = await run(
    `SELECT r.rolname AS name FROM pg_catalog.pg_roles r WHERE r.oid IN (
       SELECT nspowner FROM pg_catalog.pg_namespace WHERE nspname = $1
       UNION SELECT relowner FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = relnamespace WHERE nspname = $1
       UNION SELECT proowner FROM pg_catalog.pg_proc JOIN pg_catalog.pg_namespace n ON n.oid = pronamespace WHERE nspname = $1)
     AND NOT r.rolsuper AND r.rolname <> current_user AND r.rolname IS DISTINCT FROM $2
     AND r.oid <> (SELECT datdba FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())`,
    [schema, owner ?? null],
  );
  const [stranger] = strangers;
  if (stranger === undefined) return;
  throw invalidStore(
    `postgres: the schema ${schema}, or something in it, belongs to the role ${stranger.name}: if you trust that role, name it as owner`,
  );
}

async function versionOf(run: Query, schema: string): Promise<number> {
  // Not by to_regclass: it may remember that the schema was missing while this session waited for the lock.
  const tables = await run("SELECT FROM pg_tables WHERE schemaname = $1 AND tablename = 'schema_version'", [schema]);
  if (tables.length === 0) return 0;
  return Number((await run(`SELECT version FROM "${schema}".schema_version`))[0]?.version);
}
