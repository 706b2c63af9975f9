import { setTimeout as sleep } from 'node:timers/promises';
import { guide } from './guide.ts';
import { openShop, type Shop } from './shop.ts';

const ONCE_MS = 10_000;

const shop = await openShop({
  port: Number(process.env.SHOP_PORT ?? 8080),
  database: process.env.SHOP_DATABASE ?? ':memory:',
  seed: Number(process.env.SHOP_SEED ?? 1),
  requestsPerSecond: Number(process.env.SHOP_RATE ?? 4),
});

if (process.argv.includes('--once')) {
  await sleep(ONCE_MS);
  await shop.close();
  process.exitCode = report(shop);
} else {
  const stop = () => void shop.close();
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
  console.log(await guide(shop.url, process.env));
}

/** The exit code: 0 when orders were accepted and nothing surprised. */
function report({ tally }: Shop): number {
  console.log(`${tally.requests} requests, ${tally.ordersAccepted} orders accepted`);
  for (const surprise of tally.surprises) console.error(`not expected: ${surprise}`);
  return tally.ordersAccepted > 0 && tally.surprises.length === 0 ? 0 : 1;
}
