import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { AuditResponse, HealthResponse } from '../../src/protocol/messages.ts';
import { ANSWERED_MS, CONVERGED_MS, PATIENCE_MS } from '../store/follower.ts';
import { whyNoRedis } from '../store/redis-server.ts';
import { type ClusterSetup, type SentinelSetup, startCluster, startSentinels } from '../store/redis-topologies.ts';
import { enable, eventually, fleetOf, type MemberProcess, startMember, trailOf } from './processes.ts';

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

    const together = (ms = PATIENCE_MS) =>
      eventually(
        'the whole fleet',
        async () => {
          const fleet = await fleetOf(first());
          return fleet?.instances === PROCESSES && fleet.applied === PROCESSES;
        },
        ms,
      );

    const shows = (on: boolean, name: string, ms = CONVERGED_MS) =>
      eventually(
        `${name} to be ${on ? 'on' : 'off'} everywhere`,
        async () =>
          (await Promise.all(processes.map((process) => process.enabled(name)))).every((state) => state === on),
        ms,
      );

    async function soon<T>(work: Promise<T>): Promise<T> {
      const began = performance.now();
      const result = await work;
      const took = performance.now() - began;
      assert.ok(took < ANSWERED_MS, `took ${Math.round(took)} ms`);
      return result;
    }

    test('between two primaries every request is answered in time, and all are together again soon after', async (t) => {
      await together();
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
      const back = await together();
      t.diagnostic(`together ${Math.round(back)} ms after the promotion`);
      assert.ok(back < CONVERGED_MS);
      await eventually('the service to be well', async () => {
        const { status } = await first().get<HealthResponse>('/rdcp/v1/health');
        return status === 'healthy';
      });
      await shows(true, 'DATABASE');
      assert.equal((await first().control(enable('HTTP'))).body.status, 'success');
      await shows(true, 'HTTP');
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
      await shows(false, 'DATABASE');
      const old = setup.primary;
      old.save();
      await old.kill();
      await setup.promoted();
      const back = await shows(true, 'DATABASE');
      t.diagnostic(`what the new primary has is in force everywhere ${Math.round(back)} ms after the promotion`);
      rejoin();
      await old.start();
      await setup.following();
      await together();
      await shows(true, 'DATABASE');
    });
  });
}
