// Eight processes of the shop behind one port, as one fleet: npm run example:fleet, or npm run example:fleet -- --store postgres.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { allThere, guide } from './guide.ts';
import { openPostgres } from './postgres.ts';
import { openRedis } from './redis.ts';
import type { StoreServer } from './server.ts';
import { startShops } from './shops.ts';

const { values } = parseArgs({ options: { store: { type: 'string', default: 'redis' } } });
const count = Number(process.env.FLEET_SIZE ?? 8);
const shopPort = process.env.SHOP_PORT ?? '8080';
const controlPort = process.env.RDCP_PORT ?? '9465';
const control = `http://127.0.0.1:${controlPort}`;

const store = await openStore().catch((error: Error) => {
  console.error(`The fleet ${error.message}.`);
  process.exit(1);
});
const shops = startShops(
  count,
  {
    SHOP_PORT: shopPort,
    SHOP_RATE: process.env.SHOP_RATE ?? '1',
    RDCP_PORT: controlPort,
    RDCP_STORE: store.url,
    OTEL_SERVICE_NAME: 'shop',
    // Processes that share a port would be scraped in turns, each as if it were all.
    OTEL_METRICS_EXPORTER: 'none',
  },
  (line) => console.error(line),
);

let closing: Promise<void> | undefined;
const waiting = new AbortController();
const close = () => {
  waiting.abort();
  closing ??= shops.close().then(() => store.close());
  return closing;
};
process.on('SIGTERM', close);
process.on('SIGINT', close);

try {
  const failed = shops.ended.then(() => Promise.reject(new Error('No process of the shop is left.')));
  await Promise.race([allThere(control, count, devKey, waiting.signal), failed]);
  console.log(guide({ shop: `http://127.0.0.1:${shopPort}`, control, store: store.url, pids: shops.pids() }));
} catch (error) {
  if (closing === undefined) console.error(error instanceof Error ? error.message : error);
  process.exitCode = closing === undefined ? 1 : 0;
  await close();
}

/** Your own server, or one of the example's. */
async function openStore(): Promise<StoreServer> {
  if (values.store === 'redis') return openRedis(process.env.REDIS_URL);
  if (values.store === 'postgres') return openPostgres(process.env.DATABASE_URL);
  throw new Error('needs --store redis or --store postgres');
}

/** Your own, or the one that the first shop makes. */
function devKey(): string | undefined {
  if ((process.env.RDCP_SERVER_API_KEY ?? '') !== '') return process.env.RDCP_SERVER_API_KEY;
  try {
    return readFileSync('.rdcp/dev-key', 'utf8').trim();
  } catch {
    return undefined;
  }
}
