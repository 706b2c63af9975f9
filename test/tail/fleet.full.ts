// Measures, so nothing runs beside it: how fast a line arrives.

import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { startRedis, whyNoRedis } from '../store/redis-server.ts';
import { newFolder } from '../support/folder.ts';
import { checkKill, checkOutage, checkTail } from './fleet.ts';

function file(t: TestContext): string {
  const folder = newFolder(t);
  return `sqlite:${join(folder, 'state.db')}`;
}

test('an operator sees one tenant’s lines of three processes that share a file', (t) => checkTail(t, file(t)));

test('no process is tapped 5 s after the serving one was killed: Redis', { skip: whyNoRedis() }, async (t) => {
  const redis = await startRedis();
  t.after(() => redis.close());
  await checkKill(t, redis.url);
});

test('no process is tapped 5 s after the serving one was killed: SQLite', (t) => checkKill(t, file(t)));

test('a tail outlives an outage of Redis', { skip: whyNoRedis() }, async (t) => {
  const redis = await startRedis();
  t.after(() => redis.close());
  await checkOutage(t, redis);
});
