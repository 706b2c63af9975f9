import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { FleetResponse, WellKnownDocument } from '../../src/wire/messages.ts';
import { PATIENCE_MS } from '../store/follower.ts';
import { type RedisServer, startRedis, whyNoRedis } from '../store/redis-server.ts';
import { inFull } from '../support/tiers.ts';
import { enable, fleetOf, type MemberProcess, startMember, together, toggle, trailOf } from './processes.ts';

const STORES = {
  SQLite: { skip: false as const, redis: () => undefined },
  Redis: { skip: whyNoRedis(), redis: () => startRedis() },
};

/** What a fleet answers, on that store. */
export function acknowledges(name: keyof typeof STORES): void {
  const { skip, redis: startServer } = STORES[name];
  describe(`a fleet on ${name}`, { skip }, () => {
    let redis: RedisServer | undefined;
    let folder: string;
    let processes: MemberProcess[] = [];

    const start = (acknowledgeTimeoutSeconds = 25) =>
      startMember({
        store: redis?.url ?? `sqlite:${join(folder, 'state.db')}`,
        fleet: { acknowledgeTimeoutSeconds },
      });
    const first = () => processes[0] as MemberProcess;
    /** The one that does not wait long for the others. */
    const hasty = () => processes[1] as MemberProcess;
    const revision = async () => (await fleetOf(first()))?.revision ?? 0;
    before(async () => {
      folder = mkdtempSync(join(tmpdir(), 'rdcp-fleet-'));
      redis = await startServer();
      processes = await Promise.all([start(), start(2), start()]);
      await together(first(), 3, PATIENCE_MS);
    });
    after(async () => {
      await Promise.all(processes.map((process) => process.kill()));
      await redis?.close();
      rmSync(folder, { recursive: true });
    });

    test('a change is answered with success once every process has applied it', async () => {
      const before = await revision();
      for (const [index, category] of ['DATABASE', 'HTTP', 'QUEUE'].entries()) {
        const { body } = await first().control(enable(category));
        assert.equal(body.status, 'success');
        assert.deepEqual(body.otelrdcp_fleet, { revision: before + index + 1, instances: 3, applied: 3, pending: [] });
        for (const process of processes) assert.equal(await process.enabled(category), true);
      }
      const { body } = await first().control({ action: 'status' });
      assert.deepEqual(body.otelrdcp_fleet, { revision: before + 3, instances: 3, applied: 3, pending: [] });
    });

    test('the list shows the running processes', async () => {
      const { body } = await first().control(enable('DATABASE'));
      const list = await first().get<FleetResponse>('/rdcp/v1/fleet');
      assert.equal(list.revision, body.otelrdcp_fleet?.revision);
      assert.deepEqual(
        list.instances.map(({ pid, service, version, applied, pending }) => [pid, service, version, applied, pending]),
        processes
          .map(({ pid }) => pid)
          .toSorted((x, y) => x - y)
          .map((pid) => [pid, 'shop', '7', list.revision, false]),
      );
      for (const { startedAt, lastSeenAt } of list.instances) {
        assert.ok(Date.parse(startedAt) <= Date.parse(lastSeenAt) + 50);
      }
      const { otelrdcp_endpoints } = await first().get<WellKnownDocument>('/.well-known/rdcp');
      assert.equal(otelrdcp_endpoints.fleet, '/rdcp/v1/fleet');
      const sealedBy = new Set((await trailOf(first())).map(({ compliance }) => compliance.instanceId));
      assert.deepEqual([...sealedBy], [await first().id()]);
    });

    test('processes that toggle at once each come to a revision of their own', async () => {
      const before = await revision();
      const on = await first().enabled('QUEUE');
      const patient = processes.filter((process) => process !== hasty());
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, index) => (patient[index % 2] as MemberProcess).control(toggle('QUEUE'))),
      );
      const revisions = answers.map(({ body }) => body.otelrdcp_fleet?.revision ?? 0).toSorted((x, y) => x - y);
      assert.deepEqual(
        revisions,
        Array.from({ length: 12 }, (_, index) => before + index + 1),
      );
      for (const { body } of answers) assert.equal(body.status, 'success', JSON.stringify(body));
      for (const process of processes) assert.equal(await process.enabled('QUEUE'), on);
    });

    inFull(
      'a process that was killed is pending, on one host until its silence is noticed; one that ends leaves the list at once',
      async () => {
        const [, ended, killed] = processes as [MemberProcess, MemberProcess, MemberProcess];
        const id = await killed.id();
        await killed.kill();
        const { body } = await hasty().control(enable('DATABASE'));
        assert.deepEqual([body.status, body.otelrdcp_fleet?.pending], ['partial', [id]]);
        // On one host, a process that has ended is known to have.
        const isKnown = name === 'SQLite';
        if (isKnown) await together(first(), 2);

        await ended.end();
        const { otelrdcp_fleet } = (await first().control(enable('HTTP'))).body;
        assert.deepEqual([otelrdcp_fleet?.instances, otelrdcp_fleet?.pending], isKnown ? [1, []] : [2, [id]]);
      },
    );
  });
}
