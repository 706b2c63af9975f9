// Measures, so nothing runs beside it: how fast a line arrives.

import { test } from 'node:test';
import { startRedis, whyNoRedis } from '../store/redis-server.ts';
import { checkKill } from './fleet.ts';

test('no process is tapped 5 s after the serving one was killed: Redis', { skip: whyNoRedis() }, async (t) => {
  const redis = await startRedis();
  t.after(() => redis.close());
  await checkKill(t, redis.url);
});
