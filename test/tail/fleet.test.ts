import { test } from 'node:test';
import { startRedis, whyNoRedis } from '../store/redis-server.ts';
import { checkPast, checkTail } from './fleet.ts';

test('an operator sees one tenant’s lines of three processes, in one place alone', {
  skip: whyNoRedis(),
}, async (t) => {
  const redis = await startRedis();
  t.after(() => redis.close());
  await checkTail(t, redis.url);
});

test('the recorded lines of three processes come first, each once, and live ones follow without a gap', {
  skip: whyNoRedis(),
}, async (t) => {
  const redis = await startRedis();
  t.after(() => redis.close());
  await checkPast(t, redis.url);
});
