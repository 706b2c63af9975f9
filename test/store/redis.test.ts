// In a process of its own: it starts a server for all of its tests.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { openStore } from '../../src/store/open.ts';
import { createRedisStore } from '../../src/store/redis/store.ts';
import { stateStoreContract } from './contract/contract.ts';
import { fixtureOf } from './contract/suite.ts';
import { eventually, PATIENCE_MS } from './follower.ts';
import { type RedisServer, startRedis, whyNoRedis } from './redis-server.ts';

describe('Redis', { skip: whyNoRedis() }, () => {
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
    return fixtureOf(() => createRedisStore({ url: server.url, prefix, deadlineMs: PATIENCE_MS }));
  });
});
