// Measures, so nothing runs beside it: how fast a process ends.

import { describe, it } from 'node:test';
import { startRedis, whyNoRedis } from '../store/redis-server.ts';
import { newStore } from '../support/folder.ts';
import { assertEndsWithStore } from './exit.ts';

describe('an application ends by itself when its work is done, although clients are connected and a temporary control lives', {
  concurrency: 2,
}, () => {
  it('with a store in memory', (t) => assertEndsWithStore(t, 'memory:'));

  it('with a SQLite file', (t) => assertEndsWithStore(t, newStore(t)));

  for (const [what, before] of [
    ['', async () => {}],
    [' that does not answer', async (redis) => redis.freeze()],
    [' that is gone', (redis) => redis.kill()],
  ] satisfies readonly [string, (redis: Awaited<ReturnType<typeof startRedis>>) => Promise<void>][]) {
    it(`with a Redis${what}`, { skip: whyNoRedis() }, async (t) => {
      const redis = await startRedis();
      t.after(() => redis.close());
      await assertEndsWithStore(t, redis.url, () => before(redis));
    });
  }
});
