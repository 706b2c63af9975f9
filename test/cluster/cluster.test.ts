import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PATHS } from '../../src/protocol/constants.ts';
import type { AuditResponse, FleetResponse } from '../../src/protocol/messages.ts';
import { actAsOne, becomes, startCluster } from './cluster.ts';

describe('node:cluster with the default store', { concurrency: 2 }, () => {
  actAsOne({ changes: ['register', 'workers'], lines: ['workers'], scrapes: ['register'] });

  it('a worker that dies takes no count with it, and the one forked in its place knows what is on', async (t) => {
    const cluster = await startCluster(t, { remote: 'register' });
    await cluster.enable();
    await cluster.ask('workers', 'emit', 5);
    await becomes(10, cluster.calls);
    await cluster.ask('kill');
    await cluster.ask('fork');
    await becomes('true,true', async () => String(await cluster.ask('workers', 'enabled')));
    await cluster.ask('workers', 'emit', 1);
    await becomes(12, cluster.calls);
    const { body } = await cluster.request<FleetResponse>(PATHS.fleet, { key: 'admin' });
    assert.ok(body.instances.length >= 3);
  });

  it('what was set before the first fork, and the trail of it, is there afterwards', async (t) => {
    const cluster = await startCluster(t, { remote: 'all', workers: 0 });
    assert.equal((await cluster.enable()).otelrdcp_fleet, undefined);
    await cluster.ask('fork');
    await becomes('true', async () => String(await cluster.ask('workers', 'enabled')));
    const { body } = await cluster.request<AuditResponse>(PATHS.audit, { key: 'admin' });
    assert.deepEqual(
      body.entries.map(({ action }) => action),
      ['enable'],
    );
  });

  it('leaves nothing behind', async (t) => {
    const cluster = await startCluster(t, { remote: 'register' });
    assert.equal(cluster.folders().length, 1);
    cluster.child.kill('SIGTERM');
    await cluster.ended;
    assert.deepEqual(cluster.folders(), []);
  });
});
