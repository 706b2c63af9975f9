import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRedisStore } from '../../src/store/redis/store.ts';
import { GLOBAL_SCOPE } from '../../src/store/state-store.ts';
import { auditIds, until } from './contract/samples.ts';
import { CONVERGED_MS, eventually, follow } from './follower.ts';
import { startRedis, whyNoRedis } from './redis-server.ts';
import { toggleAtOnce } from './toggles.ts';

/** @param toggles of each process; even, and more than two */
export function breakingConnections({ processes, toggles }: { processes: number; toggles: number }): void {
  const name = `${processes} processes that toggle ${toggles} times at once while connections break lose no change and double none`;
  test(name, { skip: whyNoRedis() }, async (t) => {
    const server = await startRedis();
    const stores = Array.from({ length: processes + 1 }, () => createRedisStore({ url: server.url }));
    t.after(async () => {
      for (const store of stores) await store.close();
      await server.close();
    });
    const [observer, ...followers] = await Promise.all(stores.map(follow));
    assert.ok(observer);
    const seen: number[] = [];
    observer.store.subscribe((_, { revision }) => seen.push(revision));

    // After each break something is changed before the next one, on a machine of any speed.
    let rounds = 0;
    let broken = 0;
    let changed = true;
    const breaking = setInterval(() => {
      if (!changed) return;
      changed = false;
      rounds += 1;
      const type = rounds % 3 === 0 ? 'pubsub' : 'normal';
      broken += Number(server.command('CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'yes'));
    }, 20);
    t.after(() => clearInterval(breaking));
    const acknowledged = await toggleAtOnce(followers, toggles, () => {
      changed = true;
    });
    clearInterval(breaking);
    assert.ok(broken > 10, `${broken} connections broken`);

    const all = processes * toggles;
    const state = (await eventually(() => observer.store.load())).get(GLOBAL_SCOPE);
    assert.equal(state?.revision, all);
    assert.equal(state?.settings.get('FLIP')?.permanent, false, 'an even number of toggles ends where it began');
    assert.equal((await auditIds(observer.store)).length, all);
    assert.equal(new Set(acknowledged.map(({ revision }) => revision)).size, acknowledged.length);
    await until(() => seen.at(-1) === all, 'the last revision at the observer', CONVERGED_MS);
    for (const { heard, resets } of [observer, ...followers]) {
      await until(() => heard.get(GLOBAL_SCOPE)?.revision === all, 'the last revision everywhere', CONVERGED_MS);
      assert.deepEqual(resets, []);
    }
  });
}
