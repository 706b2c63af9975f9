import { randomUUID } from 'node:crypto';
import { after, afterEach, before, beforeEach } from 'node:test';
import { createRedisStore, type RedisStoreOptions } from '../../src/store/redis/store.ts';
import type { StateStore } from '../../src/store/state-store.ts';
import { type RedisServer, startRedis } from './redis-server.ts';

/** One Redis for the tests of a suite, each of which has keys of its own, and whose stores are closed after it. */
export function onRedis() {
  let server: RedisServer;
  let prefix = '';
  let opened: StateStore[] = [];
  before(async () => {
    server = await startRedis();
  });
  after(() => server.close());
  beforeEach(() => {
    prefix = `${randomUUID()}:`;
  });
  afterEach(async () => {
    for (const store of opened) await store.close();
    opened = [];
  });
  return {
    get server() {
      return server;
    },
    get prefix() {
      return prefix;
    },
    key: (name: string) => `${prefix}{rdcp}:${name}`,
    /** @param options by default, by the server's URL */
    open(options: Partial<RedisStoreOptions> = {}): StateStore {
      const store = createRedisStore({
        prefix,
        ...('client' in options ? {} : { url: server.url }),
        ...options,
      } as RedisStoreOptions);
      opened.push(store);
      return store;
    },
  };
}
