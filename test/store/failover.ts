import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, type TestContext, test } from 'node:test';
import { createRedisStore, type RedisClient } from '../../src/store/redis/store.ts';
import { GLOBAL_SCOPE, type StateStore } from '../../src/store/state-store.ts';
import { tokensOf } from '../support/on-records.ts';
import { auditIds, change, committedRevision, NOW, until } from './contract/samples.ts';
import { CONVERGED_MS, eventually, type Follower, follow, oneAfterTheOther, rejectsSoon } from './follower.ts';
import type { Pair } from './redis-topologies.ts';
import { toggleAtOnce } from './toggles.ts';

/**
 * What processes that share a store meet when the primary fails and its replica takes over.
 */
export function failoverContract(pair: () => Pair, clients: () => readonly RedisClient[]): void {
  describe('when the primary fails', () => {
    let prefix: string;
    let opened: StateStore[];
    let followers: Follower[];
    let a: Follower;

    beforeEach(async () => {
      prefix = `${randomUUID()}:`;
      opened = clients().map((client) => createRedisStore({ client, prefix }));
      followers = await Promise.all(opened.map(follow));
      [a] = followers as [Follower];
    });
    afterEach(async () => {
      for (const store of opened) await store.close();
      pair().replica.thaw();
      await pair().following();
    });

    const everywhere = (revision: number) =>
      Promise.all(
        followers.map(({ heard }, index) =>
          until(() => heard.get('acme')?.revision === revision, `revision ${revision} at ${index}`, CONVERGED_MS),
        ),
      );

    /** Commits until it is answered, and waits until all have heard of it: no longer than after any other fault. */
    async function convergedAfterPromotion(t: TestContext, expected: number): Promise<void> {
      await pair().promoted();
      const began = performance.now();
      await eventually(async () => {
        committedRevision(await a.store.commit(change('acme', expected, { AFTER: { permanent: true } })));
      });
      const answered = performance.now() - began;
      await everywhere(expected + 1);
      const took = performance.now() - began;
      t.diagnostic(
        `answered ${Math.round(answered)} ms after the promotion, all followed after ${Math.round(took)} ms`,
      );
      assert.ok(took < CONVERGED_MS, `took ${Math.round(took)} ms`);
    }

    /** What is given up now must not take effect when the others are promoted, or the old one is back. */
    async function giveUp(): Promise<void> {
      const session = { id: 'session', current: 'x', data: '{}', expiresAt: NOW + 60_000 };
      const asked = followers.flatMap(({ store }) => [
        store.commit(change('acme', 1, { REFUSED: { permanent: true } })),
        store.check(),
        store.load(),
        tokensOf(store).begin(session, NOW) as Promise<void>,
      ]);
      await Promise.all(asked.map(rejectsSoon));
      await rejectsSoon(oneAfterTheOther(() => a.store.check()));
    }

    async function nothingOfWhatWasGivenUp(): Promise<void> {
      assert.equal((await eventually(() => auditIds(a.store))).length, 2);
      assert.equal(await eventually(async () => tokensOf(a.store).find('session', NOW)), undefined);
      for (const { store, resets } of followers) {
        const settings = (await eventually(() => store.load())).get('acme')?.settings;
        assert.deepEqual([...(settings?.keys() ?? [])], ['AFTER']);
        assert.deepEqual(resets, [], 'nothing was lost');
      }
    }

    test('frozen: the replica takes over, and the old primary does not run later what was given up', async (t) => {
      await a.store.commit(change('acme', 0, { BEFORE: { permanent: true } }));
      await everywhere(1);
      await pair().following();
      pair().primary.freeze();
      await giveUp();
      await convergedAfterPromotion(t, 1);
      pair().replica.thaw();
      await pair().following();
      await nothingOfWhatWasGivenUp();
    });

    test('parted from its replica, and configured not to write without one: it refuses, and keeps nothing of it', async (t) => {
      const { primary } = pair();
      const needReplicas = (count: number) => primary.command('CONFIG', 'SET', 'min-replicas-to-write', String(count));
      t.after(() => needReplicas(0));
      needReplicas(1);
      await a.store.commit(change('acme', 0, {}));
      const rejoin = await pair().part();
      await rejectsSoon(a.store.commit(change('acme', 1, { REFUSED: { permanent: true } })));
      await assert.rejects(a.store.check(), 'a store that refuses writes is not well');
      rejoin();
      await pair().following();
      assert.equal(committedRevision(await eventually(() => a.store.commit(change('acme', 1, {})))), 2);
      assert.equal((await auditIds(a.store)).length, 2);
    });

    test('while many change the state at once: none is doubled, and each loss is reported', async (t) => {
      let killed: Promise<void> | undefined;
      a.store.subscribe((_, { revision }) => {
        if (revision >= 100) killed ??= pair().primary.kill();
      });
      const acknowledged = await toggleAtOnce(followers, 100);
      assert.ok(killed);
      await pair().promoted();
      await pair().replica.start();
      const state = (await eventually(() => a.store.load())).get(GLOBAL_SCOPE);
      const ids = await auditIds(a.store);
      assert.equal(new Set(ids).size, ids.length);
      assert.equal(state?.revision, ids.length);
      assert.equal(state?.settings.get('FLIP')?.permanent, ids.length % 2 === 1);
      const lost = acknowledged.filter(({ id }) => !ids.includes(id));
      for (const { by } of lost) assert.deepEqual(by.resets, [{ reason: 'rollback' }]);
      for (const { heard } of followers) {
        await until(() => heard.get(GLOBAL_SCOPE)?.revision === ids.length, 'the last revision', CONVERGED_MS);
      }
      t.diagnostic(`${ids.length} changes, ${lost.length} lost`);
    });
  });
}
