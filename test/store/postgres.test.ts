// In a process of its own: it starts a server for all of its tests.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { openStore } from '../../src/store/open.ts';
import { createPostgresStore } from '../../src/store/postgres/store.ts';
import { type PostgresServer, startPostgres, whyNoPostgres } from '../support/postgres.ts';
import { stateStoreContract } from './contract/contract.ts';
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

  stateStoreContract('postgres', true, async () => {
    const schema = `s${randomBytes(8).toString('hex')}`;
    return fixtureOf(() => createPostgresStore({ url: server.url, schema, deadlineMs: PATIENCE_MS }));
  });
});
