import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { createRedisStore, type RedisClient } from '../../src/store/redis/store.ts';
import { stateStoreContract } from './contract/contract.ts';
import { fixtureOf } from './contract/suite.ts';
import { runToItsEnd } from './ending.ts';
import { PATIENCE_MS } from './follower.ts';

/** What holds for a store by whichever kind of client of the application; the handles come by different ones. */
export function applicationClientsContract(
  name: string,
  maker: 'createCluster' | 'createSentinel',
  options: () => object,
  clients: () => readonly RedisClient[],
): void {
  test('the application’s process ends by itself once it has closed its client, although a store is open', async () => {
    const printed = await runToItsEnd(`
      const { ${maker} } = await import('redis');
      const client = ${maker}(${JSON.stringify(options())});
      client.on('error', () => {});
      await client.connect();
      const store = createRedisStore({ client, deadlineMs: ${PATIENCE_MS}, pollMs: 10 });
      store.subscribe(() => {});
      await store.load();
      console.log('loaded');
      await client.destroy();
      setTimeout(() => clearTimeout(work), 200);
    `);
    assert.equal(printed, 'loaded');
  });

  stateStoreContract(name, true, async () => {
    const prefix = `{${randomUUID()}}:`;
    let opened = 0;
    return fixtureOf(() => {
      const client = clients()[opened % clients().length] as RedisClient;
      opened += 1;
      return createRedisStore({ client, prefix, deadlineMs: PATIENCE_MS });
    });
  });
}
