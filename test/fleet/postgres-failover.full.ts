// Measures, so nothing runs beside it: how fast a fleet follows a failover.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { HealthResponse } from '../../src/wire/messages.ts';
import { CONVERGED_MS, PATIENCE_MS, soon } from '../store/follower.ts';
import { startProxy } from '../store/proxy.ts';
import { type PostgresServer, replicaOf, startPostgres, whyNoPostgres } from '../support/postgres.ts';
import { enable, eventually, type MemberProcess, shows, startMember, together, trailOf } from './processes.ts';

const PROCESSES = 3;

/** The URL names one address, which leads to the primary: as a platform's own, or a load balancer that asks each server. */
describe(`a fleet of ${PROCESSES} processes whose PostgreSQL fails over`, {
  skip: whyNoPostgres('pg_basebackup'),
}, () => {
  let servers: PostgresServer[];
  let address: Awaited<ReturnType<typeof startProxy>>;
  let processes: MemberProcess[];
  const first = () => processes[0] as MemberProcess;

  before(async () => {
    const primary = await startPostgres();
    servers = [primary];
    address = await startProxy(primary.port);
    const store = primary.url.replace(`:${primary.port}/`, `:${address.port}/`);
    processes = await Promise.all(Array.from({ length: PROCESSES }, () => startMember({ store })));
  });
  after(async () => {
    await Promise.all(processes.map((process) => process.kill()));
    await address.close();
    for (const server of servers) await server.close();
  });

  /** The primary, and a new standby of it. */
  async function pair(): Promise<[PostgresServer, PostgresServer]> {
    const primary = servers.at(-1) as PostgresServer;
    const standby = await replicaOf(primary);
    servers.push(standby);
    // The proxy stood still, as this process did.
    await together(first(), PROCESSES, PATIENCE_MS);
    return [primary, standby];
  }

  const versionIn = (server: PostgresServer) => server.sql('SELECT version FROM rdcp.history');

  test('all follow the promoted standby soon, with all that was acknowledged', async (t) => {
    const [primary, standby] = await pair();
    assert.equal((await first().control(enable('DATABASE'))).body.status, 'success');
    // Replication is asynchronous here.
    await eventually('the standby to have it', async () => versionIn(standby) === versionIn(primary));
    await primary.kill();

    const [permanent, health] = await Promise.all([
      soon(first().control(enable('HTTP'))),
      soon(first().get<HealthResponse>('/rdcp/v1/health')),
    ]);
    assert.deepEqual([permanent.status, health.status], [503, 'degraded']);
    const { body } = await soon(first().control({ ...enable('QUEUE'), options: { duration: '1h' } }));
    assert.equal(body.status, 'partial');

    // A standby answers reads, and is not used.
    address.lead(standby.port);
    assert.equal((await soon(first().control(enable('HTTP')))).status, 503);
    standby.sql('SELECT pg_promote()');
    const back = await together(first(), PROCESSES, PATIENCE_MS);
    t.diagnostic(`together ${Math.round(back)} ms after the promotion`);
    assert.ok(back < CONVERGED_MS);
    for (const name of ['DATABASE', 'QUEUE']) await shows(processes, true, name, CONVERGED_MS);
    await shows(processes, false, 'HTTP');
    assert.equal((await first().control(enable('HTTP'))).body.status, 'success');
    await shows(processes, true, 'HTTP');
    assert.ok(!(await trailOf(first())).some(({ action }) => action === 'state_reset'), 'nothing was lost');
  });

  test('a change that the promoted standby never had is undone everywhere, and the trail says so', async (t) => {
    const [primary, standby] = await pair();
    standby.sql("ALTER SYSTEM SET primary_conninfo = ''");
    standby.sql('SELECT pg_reload_conf()');
    await eventually(
      'replication to stop',
      async () => primary.sql('SELECT count(*) FROM pg_stat_replication') === '0',
    );
    assert.equal((await first().control({ action: 'disable', categories: ['DATABASE'] })).body.status, 'success');
    await shows(processes, false, 'DATABASE');
    await primary.kill();
    address.lead(standby.port);
    standby.sql('SELECT pg_promote()');
    const back = await shows(processes, true, 'DATABASE', PATIENCE_MS);
    t.diagnostic(`what the new primary has is in force everywhere ${Math.round(back)} ms after the promotion`);
    assert.ok(back < CONVERGED_MS);
    await eventually('its entry', async () => (await trailOf(first())).some(({ action }) => action === 'state_reset'));
  });
});
