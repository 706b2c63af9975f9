// One process of a fleet whose processes have different categories. Its argument is its configuration with the names of
// its categories; each is called all the time. Its parent sends further names, and gets the state of each. With a prefix it
// makes its Redis store itself.
import { type Category, createRdcp, type RdcpConfig } from 'opentelemetry-instrumentation-rdcp';
import { createRedisStore } from 'opentelemetry-instrumentation-rdcp/redis';
import { createClient } from 'redis';

/** The configuration of a process, and the names of its categories. */
export interface PartialConfig extends RdcpConfig {
  readonly has: readonly string[];
  /** Of its keys in Redis. @default that of the store's URL */
  readonly prefix?: string;
}

const { has, prefix, ...config } = JSON.parse(process.argv[2] as string) as PartialConfig;
const rdcp = createRdcp(prefix === undefined ? config : { ...config, store: await storeWith(prefix) });
const categories = new Map<string, Category>();
const add = (name: string) => categories.set(name, rdcp.category(name, { description: `of ${process.pid}` }));
for (const name of has) add(name);
setInterval(() => {
  for (const [name, category] of categories) category.debug(`called ${name}`);
}, 20);

process.on('message', (name: string) => {
  if (!categories.has(name)) add(name);
  process.send?.({ enabled: categories.get(name)?.enabled });
});
process.on('disconnect', () => process.exit());
const { url } = await rdcp.listen();
process.send?.({ url });

async function storeWith(prefix: string) {
  const client = createClient({ url: String(config.store) });
  client.on('error', () => {});
  await client.connect();
  return createRedisStore({ client, prefix });
}
