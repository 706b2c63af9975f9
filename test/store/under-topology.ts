import { after, before, describe } from 'node:test';
import { createCluster, createSentinel } from 'redis';
import type { RedisClient } from '../../src/store/redis/store.ts';
import { whyNoRedis } from './redis-server.ts';
import { type ClusterSetup, type SentinelSetup, startCluster, startSentinels } from './redis-topologies.ts';

/** Servers that are started once, because that takes long, and three clients, as of three processes. */
export interface Topology<S> {
  setup(): S;
  clients(): readonly RedisClient[];
}

export function underCluster(tests: (topology: Topology<ClusterSetup>) => void): void {
  under('Redis Cluster', startCluster, ({ options }) => createCluster(options), tests);
}

export function underSentinel(tests: (topology: Topology<SentinelSetup>) => void): void {
  under('Redis Sentinel', startSentinels, ({ options }) => createSentinel(options), tests);
}

interface Client {
  on(event: 'error', listener: () => void): unknown;
  connect(): Promise<unknown>;
  destroy(): unknown;
}

function under<S extends { close(): Promise<void> }>(
  name: string,
  start: (downAfterMs: number) => Promise<S>,
  create: (setup: S) => Client & RedisClient,
  tests: (topology: Topology<S>) => void,
): void {
  describe(name, { skip: whyNoRedis() }, () => {
    let setup: S;
    let clients: (Client & RedisClient)[];
    before(async () => {
      setup = await start(1_500);
      clients = [0, 1, 2].map(() => create(setup));
      for (const client of clients) client.on('error', () => {});
      await Promise.all(clients.map((client) => client.connect()));
    });
    after(async () => {
      for (const client of clients) await client.destroy();
      await setup.close();
    });
    tests({ setup: () => setup, clients: () => clients });
  });
}
