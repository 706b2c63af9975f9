import { randomUUID } from 'node:crypto';
import { after, before, describe } from 'node:test';
import { createCluster } from 'redis';
import { createRedisStore } from '../../src/store/redis.ts';
import type { StateStore } from '../../src/store/state-store.ts';
import { stateStoreContract } from './contract.ts';
import { PASSWORD, whyNoRedis } from './redis-server.ts';
import { type ClusterSetup, startCluster } from './redis-topologies.ts';

const missing = whyNoRedis();
describe('Redis Cluster', { skip: missing }, () => {
  let setup: ClusterSetup;
  before(async () => {
    setup = await startCluster(1_000);
  });
  after(() => setup.close());

  async function connected() {
    const cluster = createCluster({
      rootNodes: [setup.replica, ...setup.others].map(({ url }) => ({ url })),
      defaults: { password: PASSWORD },
    });
    cluster.on('error', () => {});
    await cluster.connect();
    return cluster;
  }

  describe('the contract', () => {
    // A client takes long to make; handles of different processes come by different ones.
    let clients: Awaited<ReturnType<typeof connected>>[];
    before(async () => {
      clients = await Promise.all([connected(), connected(), connected()]);
    });
    after(() => Promise.all(clients.map((client) => client.destroy())));

    stateStoreContract('Redis Cluster', true, async () => {
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
  });
});
