// In a process of its own: it starts a server for all of its tests.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { openStore } from '../../src/store/open.ts';
import { createPostgresStore } from '../../src/store/postgres/store.ts';
import { tokensOf } from '../support/on-records.ts';
import { type PostgresServer, startPostgres, whyNoPostgres } from '../support/postgres.ts';
import { stateStoreContract } from './contract/contract.ts';
import { change, NOW, replayRecord } from './contract/samples.ts';
import { fixtureOf } from './contract/suite.ts';
import { eventually, PATIENCE_MS } from './follower.ts';

describe('PostgreSQL', { skip: whyNoPostgres() }, () => {
  let server: PostgresServer;
  before(async () => {
    server = await startPostgres();
  });
  after(() => server.close());

  test('a postgres URL in the configuration opens a PostgreSQL store', async () => {
    const store = openStore(`${server.url}?schema=opened`);
    assert.equal(store.name, 'postgres');
    await eventually(() => store.check(), PATIENCE_MS);
    await store.close();
    assert.equal(server.sql("SELECT to_regclass('opened.scope')"), 'opened.scope');
  });

  test('a pool of the application is used by one client, which ends with the store', async () => {
    const pool = new pg.Pool({ connectionString: server.url, max: 2 });
    const store = createPostgresStore({ pool, schema: 'pooled', deadlineMs: PATIENCE_MS });
    await store.check();
    assert.equal(pool.totalCount - pool.idleCount, 1);
    assert.deepEqual((await pool.query('SELECT 1 AS one')).rows, [{ one: 1 }]);
    await store.close();
    assert.equal(pool.totalCount - pool.idleCount, 0);
    await pool.end();
  });

  test('a schema of version 1 is brought to this version with state, kept answers, sessions and revocations', async () => {
    const open = () => createPostgresStore({ url: server.url, schema: 'old', deadlineMs: PATIENCE_MS });
    const first = open();
    const replay = replayRecord();
    await first.commit(change('acme', 0, { A: { permanent: true } }, { replay }));
    await first.close();
    const data = '{"a":"Ü\n\u0000"}';
    server.sql(`
      SET search_path = old;
      DROP TABLE records; DROP FUNCTION write_records;
      CREATE TABLE token_session (id text, current text, data text, expires_at double precision);
      CREATE TABLE token_revocation (position bigint, session text, until double precision);
      CREATE TABLE fleet (id text); CREATE TABLE category_list (id text);
      CREATE FUNCTION rotate_session(a text) RETURNS text LANGUAGE sql AS 'SELECT a';
      CREATE FUNCTION revoke_session(a text) RETURNS text LANGUAGE sql AS 'SELECT a';
      INSERT INTO token_session VALUES ('s', 'hash', $json$${JSON.stringify(data)}$json$, ${NOW + 60_000});
      INSERT INTO token_revocation VALUES (7, 'r', ${NOW + 60_000});
      UPDATE schema_version SET version = 1;`);
    const store = open();
    assert.deepEqual([...((await store.load()).get('acme')?.settings ?? [])], [['A', { permanent: true }]]);
    assert.deepEqual({ ...(await store.findReplay(replay.key, NOW)) }, replay);
    const tokens = tokensOf(store);
    const session = { id: 's', current: 'hash', data, expiresAt: NOW + 60_000 };
    assert.deepEqual(await tokens.find('s', NOW), session);
    const rotation = { id: 's', expected: 'hash', next: 'next', now: NOW, revokedUntil: NOW };
    assert.equal(await tokens.rotate(rotation), 'rotated');
    assert.deepEqual((await tokens.revocations(0, NOW)).revoked, [{ sessionId: 'r', until: NOW + 60_000 }]);
    await store.close();
  });

  stateStoreContract('postgres', true, async () => {
    const schema = `s${randomBytes(8).toString('hex')}`;
    return fixtureOf(() => createPostgresStore({ url: server.url, schema, deadlineMs: PATIENCE_MS }));
  });
});
