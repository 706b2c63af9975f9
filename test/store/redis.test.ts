// In a process of its own: it starts a server for all of its tests.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { openStore } from '../../src/store/open.ts';
import { createRedisStore } from '../../src/store/redis/store.ts';
import type { StateStore } from '../../src/store/state-store.ts';
import { stateStoreContract } from './contract/contract.ts';
import { eventually, PATIENCE_MS } from './follower.ts';
import { type RedisServer, startRedis, whyNoRedis } from './redis-server.ts';

const missing = whyNoRedis();
if (missing !== false) {
  test('the Redis store keeps the contract', { skip: missing }, () => {});
} else {
  let server: RedisServer;
  before(async () => {
    server = await startRedis();
  });
  after(() => server.close());

  test('a redis URL in the configuration opens a Redis store', async () => {
    const store = openStore(server.url);
    assert.equal(store.name, 'redis');
    await eventually(() => store.check(), PATIENCE_MS);
    await store.close();
  });

  stateStoreContract('redis', true, async () => {
    const prefix = `${randomUUID()}:`;
    const opened: StateStore[] = [];
    return {
      async open() {
        const store = createRedisStore({ url: server.url, prefix, deadlineMs: PATIENCE_MS });
        opened.push(store);
        return store;
      },
      async dispose() {
        for (const store of opened) await store.close();
      },
    };
  });
}
