// Measures, so nothing runs beside it: how fast a client follows a failover.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRedisStore, type RedisClient } from '../../src/store/redis/store.ts';
import { GLOBAL_SCOPE } from '../../src/store/state-store.ts';
import { applicationClientsContract } from './application-clients.ts';
import { auditIds, change, committedRevision, until } from './contract/samples.ts';
import { failoverContract } from './failover.ts';
import { CONVERGED_MS, eventually, type Follower, follow } from './follower.ts';
import { PASSWORD, type RedisServer } from './redis-server.ts';
import { toggleAtOnce } from './toggles.ts';
import { underCluster } from './under-topology.ts';

underCluster(({ setup, clients }) => {
  applicationClientsContract('Redis Cluster', 'createCluster', () => setup().options, clients);

  failoverContract(setup, clients);

  describe('when it is rearranged', () => {
    let followers: Follower[];

    beforeEach(async () => {
      const prefix = `${randomUUID()}:`;
      followers = await Promise.all(clients().map((client) => follow(createRedisStore({ client, prefix }))));
    });
    afterEach(async () => {
      for (const { store } of followers) await store.close();
    });

    /** Toggles from all sides, and rearranges the cluster meanwhile: no change is lost, and none is doubled. */
    async function whileToggling(rearrange: () => Promise<void>): Promise<void> {
      const [{ store }] = followers as [Follower];
      let rearranged: Promise<void> | undefined;
      store.subscribe((_, { revision }) => {
        if (revision >= 50) rearranged ??= rearrange();
      });
      const acknowledged = await toggleAtOnce(followers, 100);
      assert.ok(rearranged);
      await rearranged;
      const ids = await eventually(() => auditIds(store));
      assert.equal(ids.length, 300);
      assert.ok(acknowledged.every(({ id }) => ids.includes(id)));
      assert.equal((await eventually(() => store.load())).get(GLOBAL_SCOPE)?.revision, 300);
      for (const { heard, resets } of followers) {
        await until(() => heard.get(GLOBAL_SCOPE)?.revision === 300, 'the last change everywhere', CONVERGED_MS);
        assert.deepEqual(resets, []);
      }
    }

    test('a primary that changes places with its replica loses no change', () =>
      whileToggling(() => setup().changePlaces()));

    test('a slot that is moved to another node and back loses no change', async () => {
      const [from, to] = [setup().primary, setup().others[0] as RedisServer];
      await whileToggling(async () => {
        await moveKeys(from, to);
        own(to);
      });
      await moveKeys(to, from);
      own(from);
    });

    test('while a slot is moved its state is read, and a change of it waits for the end', async (t) => {
      const [from, to] = [setup().primary, setup().others[0] as RedisServer];
      const store = createRedisStore({ client: clients()[0] as RedisClient, deadlineMs: 30_000 });
      t.after(() => store.close());
      await store.commit(change('acme', 0, { A: { permanent: true } }));
      await moveKeys(from, to);
      await store.check();
      const committing = store.commit(change('acme', 1, {}));
      // Long enough for it to be asked, and to be refused meanwhile.
      await sleep(50);
      own(to);
      assert.equal(committedRevision(await committing), 2);
      await moveKeys(to, from);
      own(from);
    });

    /** Moves the keys of the slot; whose it is remains to be said. */
    async function moveKeys(from: RedisServer, to: RedisServer): Promise<void> {
      to.command('CLUSTER', 'SETSLOT', setup().slot, 'IMPORTING', idOf(from));
      from.command('CLUSTER', 'SETSLOT', setup().slot, 'MIGRATING', idOf(to));
      for (;;) {
        const keys = from.command('CLUSTER', 'GETKEYSINSLOT', setup().slot, '50').split('\n').filter(Boolean);
        if (keys.length === 0) return;
        from.command('MIGRATE', '127.0.0.1', String(to.port), '', '0', '5000', 'AUTH', PASSWORD, 'KEYS', ...keys);
        // In between, whoever misses a key asks for it.
        await sleep(5);
      }
    }

    function own(owner: RedisServer): void {
      const nodes = [owner, setup().primary, ...setup().others];
      for (const node of nodes) node.command('CLUSTER', 'SETSLOT', setup().slot, 'NODE', idOf(owner));
    }

    const idOf = (node: RedisServer) => node.command('CLUSTER', 'MYID');
  });
});
