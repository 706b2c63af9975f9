// Measures, so nothing runs beside it: how fast a process ends.

import { describe, it } from 'node:test';
import { startRedis, whyNoRedis } from '../store/redis-server.ts';
import { newStore } from '../support/folder.ts';
import { assertEndsWithStore } from './exit.ts';

describe('an application ends by itself when its work is done, although clients are connected and a temporary control lives', {
  concurrency: 2,
}, () => {
  it('with a store in memory', (t) => assertEndsWithStore(t, 'memory:'));

  it('with a Redis that does not answer', { skip: whyNoRedis() }, async (t) => {
    const redis = await startRedis();
    t.after(() => redis.close());
    await assertEndsWithStore(t, redis.url, async () => redis.freeze());
  });

  it('with a SQLite file', (t) => assertEndsWithStore(t, newStore(t)));

  it('with Redis', { skip: whyNoRedis() }, async (t) => {
    const redis = await startRedis();
    t.after(() => redis.close());
    await assertEndsWithStore(t, redis.url);
  });

  it('with a Redis that is gone', { skip: whyNoRedis() }, async (t) => {
    const redis = await startRedis();
    t.after(() => redis.close());
    await assertEndsWithStore(t, redis.url, () => redis.kill());
  });
});
