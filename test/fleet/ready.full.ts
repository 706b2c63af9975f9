// Measures, so nothing runs beside it: listen() waits two seconds at most for the state of a store.

import assert from 'node:assert/strict';
import { connect, createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { category } from '../../src/api.ts';
import { createRedisStore } from '../../src/store/redis/store.ts';
import { change } from '../store/contract/samples.ts';
import { startRedis, whyNoRedis } from '../store/redis-server.ts';
import { portOf } from '../support/listening.ts';
import { startService } from '../support/service.ts';

const orders = category('ORDERS');

/** A way to a server that takes its time. */
async function slowly(t: TestContext, target: number, milliseconds: number): Promise<number> {
  const server = createServer((socket) => {
    const onward = connect(target, '127.0.0.1');
    for (const end of [socket, onward])
      end.on('error', () => {}).on('close', () => socket.destroy() && onward.destroy());
    socket.pipe(onward);
    onward.on('data', (data) => setTimeout(() => socket.write(data), milliseconds));
  });
  return portOf(t, server);
}

test('when listen() resolves, each category is as a Redis store has it', { skip: whyNoRedis() }, async (t) => {
  const redis = await startRedis();
  t.after(() => redis.close());
  const store = createRedisStore({ url: redis.url });
  await store.load();
  await store.commit(change('*', 0, { ORDERS: { permanent: true } }, { now: Date.now() }));
  await store.close();
  const port = await slowly(t, redis.port, 60);
  await startService(t, { store: redis.url.replace(/\d+$/, String(port)) });
  assert.equal(orders.enabled, true);
});

test('a Redis that does not answer delays listen() for two seconds at most', { skip: whyNoRedis() }, async (t) => {
  const redis = await startRedis();
  t.after(() => redis.close());
  redis.freeze();
  t.after(() => redis.thaw());
  const began = performance.now();
  await startService(t, { store: redis.url });
  const took = performance.now() - began;
  assert.ok(took < 4000, `${took} ms`);
});
