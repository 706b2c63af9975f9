// One process of a fleet: a service with three debug categories, under remote control on a port of its own. Its
// configuration is its argument; it tells its parent where it listens, and what its gate says when it is asked.
import { createRdcp } from 'opentelemetry-instrumentation-rdcp';
import type { MemberConfig } from './processes.ts';

const { redis, ...config } = JSON.parse(process.argv[2] as string) as MemberConfig;
const rdcp = createRdcp(redis === undefined ? config : { ...config, store: await storeIn(redis) });
const categories = new Map(['DATABASE', 'HTTP', 'QUEUE'].map((name) => [name, rdcp.category(name)]));
const { url } = await rdcp.listen();

process.on('message', (name: string) => process.send?.({ name, enabled: categories.get(name)?.enabled === true }));
process.on('SIGTERM', () => void rdcp.close().then(() => process.disconnect()));
process.on('disconnect', () => process.exit());
process.send?.({ url });

async function storeIn(redis: NonNullable<MemberConfig['redis']>) {
  const { createCluster, createSentinel } = await import('redis');
  const { createRedisStore } = await import('opentelemetry-instrumentation-rdcp/redis');
  const client = 'sentinel' in redis ? createSentinel(redis.sentinel) : createCluster(redis.cluster);
  client.on('error', () => {});
  await client.connect();
  return createRedisStore({ client });
}
