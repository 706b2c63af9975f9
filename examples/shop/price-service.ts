import { setTimeout as sleep } from 'node:timers/promises';
import Router from '@koa/router';
import { category } from 'opentelemetry-instrumentation-rdcp/api';
import { listPrice } from './catalogue.ts';
import type { Random } from './random.ts';

const PRICES = category('PRICES', {
  description: 'Answers of the price service: the product, and whether it was too busy',
});

/** One answer in twelve: enough for the retries to be worth watching. */
const FAILURE_RATE = 1 / 12;

/** The other service of this example, so that the shop has somebody to call: slow at times, and not always there. */
export function priceService(random: Random): Router {
  const router = new Router({ prefix: '/prices' });
  router.get('/:sku', async (ctx) => {
    await sleep(2 + 20 * random());
    const { sku = '' } = ctx.params;
    const list = listPrice(sku);
    if (random() < FAILURE_RATE) {
      PRICES.debug('too busy', { 'shop.sku': sku });
      ctx.status = 503;
      ctx.body = { error: 'busy' };
    } else if (list === undefined) {
      ctx.status = 404;
      ctx.body = { error: 'no such product' };
    } else {
      const cents = Math.round(list * (0.95 + 0.1 * random()));
      PRICES.debug('price', { 'shop.sku': sku, 'shop.cents': cents });
      ctx.body = { cents };
    }
  });
  return router;
}
