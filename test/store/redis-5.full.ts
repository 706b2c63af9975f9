import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { registerHooks } from 'node:module';
import { describe, test } from 'node:test';
import { createClient } from 'redis-5';
import { createRedisStore } from '../../src/store/redis/store.ts';
import { stateStoreContract } from './contract/contract.ts';
import { change, committedRevision, until } from './contract/samples.ts';
import { fixtureOf } from './contract/suite.ts';
import { follow, rejectsSoon } from './follower.ts';
import { onRedis } from './on-redis.ts';
import { whyNoRedis } from './redis-server.ts';

// What holds with the older version of the package `redis` in the place of the one that is installed under that name.

registerHooks({
  resolve: (specifier, context, next) => next(specifier === 'redis' ? 'redis-5' : specifier, context),
});

describe('version 5 of the package redis', { skip: whyNoRedis() }, () => {
  const place = onRedis();

  const connections = () => place.server.command('CLIENT', 'LIST').split('\n').length;

  async function connected() {
    const client = createClient({ url: place.server.url, disableOfflineQueue: true });
    client.on('error', () => {});
    await client.connect();
    return client;
  }

  stateStoreContract('redis-5 by URL', true, async () => {
    return fixtureOf(() => place.open());
  });

  stateStoreContract('redis-5 by a client of the application', true, async () => {
    const client = await connected();
    const prefix = `${randomUUID()}:`;
    return fixtureOf(
      () => createRedisStore({ client, prefix }),
      () => client.destroy(),
    );
  });

  test('a store finds its Redis again, and hears of changes', async (t) => {
    const client = await connected();
    const prefix = `${randomUUID()}:`;
    const stores = [createRedisStore({ url: place.server.url, prefix }), createRedisStore({ client, prefix })];
    t.after(async () => {
      for (const store of stores) await store.close();
      client.destroy();
    });
    await Promise.all(stores.map((store) => store.load()));
    await place.server.kill();
    for (const store of stores) await rejectsSoon(store.check());
    await place.server.start();
    const [one, other] = await Promise.all(stores.map(follow));
    assert.ok(one && other);
    assert.equal(committedRevision(await one.store.commit(change('acme', 0, {}))), 1);
    await until(() => other.heard.has('acme'), 'the change');
  });

  test('a store that is closed while it connects leaves no connection', async () => {
    const before = connections();
    for (let turns = 0; turns < 12; turns += 1) {
      const store = createRedisStore({ url: place.server.url });
      for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      await store.close();
    }
    await until(() => connections() === before, 'the end of every connection');
  });
});
