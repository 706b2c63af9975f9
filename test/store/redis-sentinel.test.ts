import { after, before, describe } from 'node:test';
import { createSentinel } from 'redis';
import { applicationClientsContract } from './application-clients.ts';
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

  applicationClientsContract(
    'Redis under Sentinel',
    'createSentinel',
    () => setup.options,
    () => clients,
  );

  failoverContract(
    () => setup,
    () => clients,
  );
});
