// Eight processes of the shop behind one port, as one fleet: npm run example:fleet.
import { readFileSync } from 'node:fs';
import { allThere, guide } from './guide.ts';
import { openRedis } from './redis.ts';
import { startShops } from './shops.ts';

const count = Number(process.env.FLEET_SIZE ?? 8);
const shopPort = process.env.SHOP_PORT ?? '8080';
const controlPort = process.env.RDCP_PORT ?? '9465';
const control = `http://127.0.0.1:${controlPort}`;

const redis = await openRedis(process.env.REDIS_URL).catch((error: Error) => {
  console.error(`The fleet ${error.message}.`);
  process.exit(1);
});
const shops = startShops(
  count,
  {
    SHOP_PORT: shopPort,
    SHOP_RATE: process.env.SHOP_RATE ?? '1',
    RDCP_PORT: controlPort,
    RDCP_STORE: redis.url,
    OTEL_SERVICE_NAME: 'shop',
    // Processes that share a port would be scraped in turns, each as if it were all.
    OTEL_METRICS_EXPORTER: 'none',
  },
  (line) => console.error(line),
);

let closing: Promise<void> | undefined;
const close = () => {
  closing ??= shops.close().then(() => redis.close());
  return closing;
};
process.on('SIGTERM', close);
process.on('SIGINT', close);

try {
  await allThere(control, count, devKey);
  console.log(guide({ shop: `http://127.0.0.1:${shopPort}`, control, store: redis.url, pids: shops.pids() }));
} catch (error) {
  if (closing === undefined) console.error(error instanceof Error ? error.message : error);
  process.exitCode = closing === undefined ? 1 : 0;
  await close();
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
