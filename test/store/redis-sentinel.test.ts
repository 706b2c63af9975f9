import { randomUUID } from 'node:crypto';
import { after, before, describe } from 'node:test';
import { createSentinel } from 'redis';
import { createRedisStore } from '../../src/store/redis.ts';
import type { StateStore } from '../../src/store/state-store.ts';
import { stateStoreContract } from './contract.ts';
import { failoverContract } from './failover.ts';
import { PASSWORD, whyNoRedis } from './redis-server.ts';
import { SENTINEL_NAME, type SentinelSetup, startSentinels } from './redis-topologies.ts';

const missing = whyNoRedis();
describe('Redis Sentinel', { skip: missing }, () => {
  let setup: SentinelSetup;
  // Making one takes long. The handles of different processes come by different ones.
  let clients: Awaited<ReturnType<typeof connected>>[];
  before(async () => {
    setup = await startSentinels(1_000);
    clients = await Promise.all([connected(), connected(), connected()]);
  });
  after(async () => {
    for (const client of clients) await client.destroy();
    await setup.close();
  });

  async function connected() {
    const sentinel = createSentinel({
      name: SENTINEL_NAME,
      sentinelRootNodes: setup.sentinels.map(({ port }) => ({ host: '127.0.0.1', port })),
      nodeClientOptions: { password: PASSWORD },
      sentinelClientOptions: { password: PASSWORD },
    });
    sentinel.on('error', () => {});
    await sentinel.connect();
    return sentinel;
  }

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
