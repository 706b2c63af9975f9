import { randomBytes } from 'node:crypto';
import { after, before, describe } from 'node:test';
import { createPostgresStore } from '../../src/store/postgres/store.ts';
import { startPgbouncer } from '../support/pgbouncer.ts';
import { type PostgresServer, startPostgres, whyNoPostgres } from '../support/postgres.ts';
import { stateStoreContract } from './contract/contract.ts';
import { fixtureOf } from './contract/suite.ts';
import { PATIENCE_MS } from './follower.ts';

describe('behind pgbouncer in transaction mode', { skip: whyNoPostgres('pgbouncer') }, () => {
  let server: PostgresServer;
  let pooler: Awaited<ReturnType<typeof startPgbouncer>>;
  before(async () => {
    server = await startPostgres();
    pooler = await startPgbouncer(server);
  });
  after(async () => {
    await pooler.close();
    await server.close();
  });

  stateStoreContract('postgres', true, async () => {
    const schema = `s${randomBytes(8).toString('hex')}`;
    return fixtureOf(() => createPostgresStore({ url: pooler.url, schema, deadlineMs: PATIENCE_MS, pollMs: 50 }));
  });
});
