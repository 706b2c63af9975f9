// Measures, so nothing runs beside it: how fast a fleet follows a failover.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import type { HealthResponse } from '../../src/wire/messages.ts';
import { CONVERGED_MS, PATIENCE_MS, soon } from '../store/follower.ts';
import { whyNoRedis } from '../store/redis-server.ts';
import { type ClusterSetup, type SentinelSetup, startCluster, startSentinels } from '../store/redis-topologies.ts';
import { enable, eventually, fleetOf, type MemberProcess, shows, startMember, together, trailOf } from './processes.ts';

const PROCESSES = 3;

const TOPOLOGIES = {
  async Sentinel() {
    const setup = await startSentinels(1_500);
    return { setup, redis: { sentinel: setup.options } };
  },
  async Cluster() {
    const setup = await startCluster(1_500);
    return { setup, redis: { cluster: setup.options } };
  },
};

const missing = whyNoRedis();
for (const [kind, start] of Object.entries(TOPOLOGIES)) {
  describe(`a fleet of ${PROCESSES} processes whose Redis fails over, by ${kind}`, { skip: missing }, () => {
    let setup: SentinelSetup | ClusterSetup;
    let processes: MemberProcess[];
    const first = () => processes[0] as MemberProcess;

    before(async () => {
      const started = await start();
      setup = started.setup;
      const { redis } = started;
      processes = await Promise.all(Array.from({ length: PROCESSES }, () => startMember({ redis })));
    });
    after(async () => {
      await Promise.all(processes.map((process) => process.kill()));
      await setup.close();
    });

    const whole = () => together(first(), PROCESSES, PATIENCE_MS);

    test('between two primaries every request is answered in time, and all are together again soon after', async (t) => {
      await whole();
      assert.equal((await first().control(enable('DATABASE'))).body.status, 'success');
      await setup.following();
      await setup.primary.kill();
      const [permanent, health, fleet, audit] = await Promise.all([
        soon(first().control(enable('HTTP'))),
        soon(first().get<HealthResponse>('/rdcp/v1/health')),
        soon(fleetOf(first())),
        soon(first().get<AuditResponse>('/rdcp/v1/audit')),
      ]);
      assert.equal(permanent.status, 503);
      assert.equal(health.status, 'degraded');
      assert.equal(fleet, undefined);
      assert.equal(audit.entries, undefined);
      const { body } = await soon(first().control({ ...enable('QUEUE'), options: { duration: '1h' } }));
      assert.equal(body.status, 'partial');
      assert.equal(await first().enabled('QUEUE'), true);

      await setup.promoted();
      const back = await whole();
      t.diagnostic(`together ${Math.round(back)} ms after the promotion`);
      assert.ok(back < CONVERGED_MS);
      await eventually('the service to be well', async () => {
        const { status } = await first().get<HealthResponse>('/rdcp/v1/health');
        return status === 'healthy';
      });
      await shows(processes, true, 'DATABASE', CONVERGED_MS);
      assert.equal((await first().control(enable('HTTP'))).body.status, 'success');
      await shows(processes, true, 'HTTP', CONVERGED_MS);
      // What was told meanwhile is in the trail now.
      await eventually('the entry of the temporary control', async () =>
        (await trailOf(first())).some(({ categories }) => categories?.includes('QUEUE')),
      );
      await setup.replica.start();
      await setup.following();
    });

    test('a change that the new primary never had is undone everywhere, also when the old one is back', async (t) => {
      const rejoin = await setup.part();
      await first().control({ action: 'disable', categories: ['DATABASE'] });
      await shows(processes, false, 'DATABASE', CONVERGED_MS);
      const old = setup.primary;
      old.save();
      await old.kill();
      await setup.promoted();
      const back = await shows(processes, true, 'DATABASE', CONVERGED_MS);
      t.diagnostic(`what the new primary has is in force everywhere ${Math.round(back)} ms after the promotion`);
      rejoin();
      await old.start();
      await setup.following();
      await whole();
      await shows(processes, true, 'DATABASE', CONVERGED_MS);
    });
  });
}
