import { randomUUID } from 'node:crypto';
import { describe } from 'node:test';
import { createClient, RESP_TYPES } from 'redis';
import { createRedisStore } from '../../src/store/redis/store.ts';
import { stateStoreContract } from './contract/contract.ts';
import { fixtureOf } from './contract/suite.ts';
import { PATIENCE_MS } from './follower.ts';
import { onRedis } from './on-redis.ts';
import { whyNoRedis } from './redis-server.ts';

/** Clients that an application has connected, by their kind. */
export const CONNECTED = {
  async 'a client'(url: string) {
    const client = createClient({ url, disableOfflineQueue: true });
    client.on('error', () => {});
    return client.connect();
  },
  async 'a client of the older protocol that answers with buffers'(url: string) {
    const client = createClient({ url, RESP: 2 });
    client.on('error', () => {});
    await client.connect();
    return client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
  },
};

/** A store by that kind of client keeps the contract. */
export function applicationClientContract(kind: keyof typeof CONNECTED): void {
  describe(`Redis by ${kind} of the application`, { skip: whyNoRedis() }, () => {
    const place = onRedis();

    stateStoreContract(`Redis by ${kind} of the application`, true, async () => {
      const prefix = `${randomUUID()}:`;
      const clients: { destroy(): unknown }[] = [];
      return fixtureOf(
        async () => {
          const client = await CONNECTED[kind](place.server.url);
          clients.push(client);
          return createRedisStore({ client, prefix, deadlineMs: PATIENCE_MS });
        },
        () => {
          for (const client of clients) client.destroy();
        },
      );
    });
  });
}
