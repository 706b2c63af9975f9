// In a process of its own: it starts a server for all of its tests.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openStore } from '../../src/store/open.ts';
import { stateStoreContract } from './contract/contract.ts';
import { fixtureOf } from './contract/suite.ts';
import { eventually, PATIENCE_MS } from './follower.ts';
import { onRedis } from './on-redis.ts';
import { whyNoRedis } from './redis-server.ts';

describe('Redis', { skip: whyNoRedis() }, () => {
  const place = onRedis();

  test('a redis URL in the configuration opens a Redis store', async () => {
    const store = openStore(place.server.url);
    assert.equal(store.name, 'redis');
    await eventually(() => store.check(), PATIENCE_MS);
    await store.close();
  });

  stateStoreContract('redis', true, async () => fixtureOf(() => place.open({ deadlineMs: PATIENCE_MS })));
});
