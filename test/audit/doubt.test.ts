import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import { createRedisStore } from '../../src/store/redis/store.ts';
import type { StateStore } from '../../src/store/state-store.ts';
import { PATIENCE_MS } from '../store/follower.ts';
import { startRedis, whyNoRedis } from '../store/redis-server.ts';
import { inFull } from '../support/tiers.ts';
import { virtualTime } from '../support/virtual-time.ts';
import { DRAFT, NOW, openTrail, verify } from './entries.ts';

function startTrail(store: StateStore, instanceId: string) {
  const lost = { request: false, answer: false };
  const trail = openTrail({
    store: {
      ...store,
      async commit(commit) {
        if (lost.request) throw new Error('the connection was lost');
        const result = await store.commit(commit);
        if (lost.answer) throw new Error('the connection was lost');
        return result;
      },
    },
    instanceId,
    time: virtualTime(NOW),
  });
  const writeWithout = (what: 'request' | 'answer') => {
    lost[what] = true;
    return trail.record(DRAFT).finally(() => {
      lost[what] = false;
    });
  };
  return {
    write: () => trail.record(DRAFT),
    /** The store takes it, and says nothing. */
    writeUnheard: () => writeWithout('answer'),
    /** The store never hears of it. */
    writeInVain: () => writeWithout('request'),
  };
}

/** Two processes whose entries are in one store, some of the one there already. */
async function afterOthers(before: number) {
  const store = createMemoryStore();
  const others = startTrail(store, 'others');
  const own = startTrail(store, 'own');
  const othersWrite = async (count: number) => {
    for (let written = 0; written < count; written += 1) await others.write();
  };
  await othersWrite(before);
  return { store, own, othersWrite };
}

const trailOf = async (store: StateStore) => (await store.queryAudit({ limit: 10_000 })).entries.toReversed();

for (const before of [0, 1, 400]) {
  for (const since of [0, 1, 400]) {
    test(`an entry whose answer was lost is taken for kept, with ${before} entries before it and ${since} of others since`, async () => {
      const { store, own, othersWrite } = await afterOthers(before);
      await assert.rejects(own.writeUnheard());
      await othersWrite(since);
      await own.write();
      const entries = await trailOf(store);
      assert.equal(verify(entries), undefined);
      assert.deepEqual(
        entries
          .filter(({ compliance }) => compliance.instanceId === 'own')
          .map(({ compliance }) => compliance.sequence),
        [1, 2],
      );
    });

    test(`an entry that never arrived leaves no gap, with ${before} entries before it and ${since} of others since`, async () => {
      const { store, own, othersWrite } = await afterOthers(before);
      await assert.rejects(own.writeInVain());
      await othersWrite(since);
      await own.write();
      await own.write();
      assert.equal(verify(await trailOf(store)), undefined);
      assert.equal((await trailOf(store)).length, before + since + 2);
    });
  }
}

inFull(
  'an entry in doubt is looked for among the newest alone, however long the trail is',
  {
    skip: whyNoRedis(),
  },
  async (t) => {
    const redis = await startRedis();
    const store = createRedisStore({ url: redis.url, deadlineMs: PATIENCE_MS });
    t.after(async () => {
      await store.close();
      await redis.close();
    });
    await startTrail(store, 'others').write();
    const [entry] = await trailOf(store);
    const fill = "for i = 1, 3000 do redis.call('XADD', KEYS[1], '*', 'entry', ARGV[1]) end";
    redis.command('EVAL', fill, '1', '{rdcp}:audit', JSON.stringify(entry));
    const own = startTrail(store, 'own');
    await own.write();
    redis.command('CONFIG', 'RESETSTAT');
    await assert.rejects(own.writeInVain());
    await own.write();
    const [, calls] = /cmdstat_xrevrange:calls=(\d+)/.exec(redis.command('INFO', 'commandstats')) ?? [];
    assert.ok(Number(calls) <= 2, `${calls} looks`);
  },
);
