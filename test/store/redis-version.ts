import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { registerHooks } from 'node:module';
import { after, before, describe, test } from 'node:test';
import { createRedisStore, type RedisClient } from '../../src/store/redis/store.ts';
import { stateStoreContract } from './contract/contract.ts';
import { change, committedRevision, until } from './contract/samples.ts';
import { fixtureOf } from './contract/suite.ts';
import { follow, rejectsSoon } from './follower.ts';
import { type RedisServer, startRedis, whyNoRedis } from './redis-server.ts';

/** What is used of a version of the package `redis`. */
export interface RedisVersion {
  createClient(options: {
    url: string;
    disableOfflineQueue: boolean;
  }): RedisClient & { connect(): Promise<unknown>; destroy(): unknown };
}

/** What holds with another version of the package `redis` than the one that is installed under that name. */
export function redisVersionContract(installedAs: string, { createClient }: RedisVersion): void {
  registerHooks({
    resolve: (specifier, context, next) => next(specifier === 'redis' ? installedAs : specifier, context),
  });

  describe(installedAs, { skip: whyNoRedis() }, () => {
    let server: RedisServer;
    before(async () => {
      server = await startRedis();
    });
    after(() => server.close());

    const connections = () => server.command('CLIENT', 'LIST').split('\n').length;

    async function connected() {
      const client = createClient({ url: server.url, disableOfflineQueue: true });
      client.on('error', () => {});
      await client.connect();
      return client;
    }

    stateStoreContract(`${installedAs} by URL`, true, async () => {
      const prefix = `${randomUUID()}:`;
      return fixtureOf(() => createRedisStore({ url: server.url, prefix }));
    });

    stateStoreContract(`${installedAs} by a client of the application`, true, async () => {
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
      const stores = [createRedisStore({ url: server.url, prefix }), createRedisStore({ client, prefix })];
      t.after(async () => {
        for (const store of stores) await store.close();
        client.destroy();
      });
      await Promise.all(stores.map((store) => store.load()));
      await server.kill();
      for (const store of stores) await rejectsSoon(store.check());
      await server.start();
      const [one, other] = await Promise.all(stores.map(follow));
      assert.ok(one && other);
      assert.equal(committedRevision(await one.store.commit(change('acme', 0, {}))), 1);
      await until(() => other.heard.has('acme'), 'the change');
    });

    test('a store that is closed while it connects leaves no connection', async () => {
      const before = connections();
      for (let turns = 0; turns < 12; turns += 1) {
        const store = createRedisStore({ url: server.url });
        for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        await store.close();
      }
      await until(() => connections() === before, 'the end of every connection');
    });
  });
}
