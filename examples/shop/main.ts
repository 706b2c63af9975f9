import { setTimeout as sleep } from 'node:timers/promises';
import { guide } from './guide.ts';
import { openShop, type Shop } from './shop.ts';

const ONCE_MS = 10_000;

void run(shopPort(process.env.SHOP_PORT));

async function run(port: number): Promise<void> {
  const shop = await openShop({
    port,
    database: process.env.SHOP_DATABASE ?? ':memory:',
    seed: Number(process.env.SHOP_SEED ?? 1),
    requestsPerSecond: Number(process.env.SHOP_RATE ?? 4),
    tenants: (process.env.SHOP_TENANTS ?? '').split(',').filter((tenant) => tenant !== ''),
  }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error;
    return end(`port ${port} is in use: choose another by SHOP_PORT`);
  });

  if (process.argv.includes('--once')) {
    await sleep(ONCE_MS);
    await shop.close();
    process.exitCode = report(shop);
    return;
  }
  const stop = () => void shop.close();
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
  console.log(await guide(shop.url, process.env));
}

/** An empty variable counts as not set, as OpenTelemetry's do. */
function shopPort(text = ''): number {
  if (text === '') return 8080;
  return /^\d{1,5}$/.test(text) && Number(text) <= 65_535
    ? Number(text)
    : end('SHOP_PORT must be a number from 0 to 65535');
}

function end(problem: string): never {
  console.error(`shop: ${problem}`);
  process.exit(1);
}

/** The exit code: 0 when orders were accepted and nothing surprised. */
function report({ tally }: Shop): number {
  console.log(`${tally.requests} requests, ${tally.ordersAccepted} orders accepted`);
  for (const surprise of tally.surprises) console.error(`not expected: ${surprise}`);
  return tally.ordersAccepted > 0 && tally.surprises.length === 0 ? 0 : 1;
}
