// Koa, with a category of its own: STOCK.
import Router from '@koa/router';
import Koa from 'koa';
import { category } from 'opentelemetry-instrumentation-rdcp/api';
import { next, serve, work } from './service.ts';

const STOCK = category('STOCK', { description: 'What is left of an article, and what is reserved' });

const router = new Router();
router.get('/stock/:sku', async (ctx) => {
  const { sku = '' } = ctx.params;
  const left = 10 + sku.length;
  STOCK.debug('looked up', { sku, left });
  await work();
  const { days } = await next<{ days: number }>(`/shipping/${sku}`);
  await work();
  STOCK.debug('reserved', { sku, left: left - 1 });
  ctx.body = { left: left - 1, days };
});

serve(new Koa().use(router.routes()).callback());
