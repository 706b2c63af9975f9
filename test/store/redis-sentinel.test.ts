import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { createSentinel } from 'redis';
import { createRedisStore } from '../../src/store/redis.ts';
import type { StateStore } from '../../src/store/state-store.ts';
import { stateStoreContract } from './contract.ts';
import { runToItsEnd } from './ending.ts';
import { failoverContract } from './failover.ts';
import { whyNoRedis } from './redis-server.ts';
import { type SentinelSetup, startSentinels } from './redis-topologies.ts';

const missing = whyNoRedis();
describe('Redis Sentinel', { skip: missing }, () => {
  let setup: SentinelSetup;
  // Making one takes long. The handles of different processes come by different ones.
  let clients: Awaited<ReturnType<typeof connected>>[];
  before(async () => {
    setup = await startSentinels(1_500);
    clients = await Promise.all([connected(), connected(), connected()]);
  });
  after(async () => {
    for (const client of clients) await client.destroy();
    await setup.close();
  });

  async function connected() {
    const sentinel = createSentinel(setup.options);
    sentinel.on('error', () => {});
    await sentinel.connect();
    return sentinel;
  }

  test('the application’s process ends by itself once it has closed its client, although a store is open', async () => {
    const printed = await runToItsEnd(`
      const { createSentinel } = await import('redis');
      const client = createSentinel(${JSON.stringify(setup.options)});
      client.on('error', () => {});
      await client.connect();
      const store = createRedisStore({ client, pollMs: 10 });
      store.subscribe(() => {});
      await store.load();
      console.log('loaded');
      await client.destroy();
      setTimeout(() => clearTimeout(work), 200);
    `);
    assert.equal(printed, 'loaded');
  });

  stateStoreContract('Redis under Sentinel', true, async () => {
    const prefix = `{${randomUUID()}}:`;
    const opened: StateStore[] = [];
    return {
      async open() {
        const client = clients[opened.length % clients.length] as (typeof clients)[number];
        const store = createRedisStore({ client, prefix });
        opened.push(store);
        return store;
      },
      async dispose() {
        for (const store of opened) await store.close();
      },
    };
  });

  failoverContract(
    () => setup,
    () => clients,
  );
});
