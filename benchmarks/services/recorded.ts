// A small Koa service with twenty debug points in each order, and its remote control on a port of its own. Its argument is how long
// finished work is kept, in seconds.

import Router from '@koa/router';
import Koa from 'koa';
import { serve } from '../load/serve.ts';
import { built } from '../measurement.ts';
import { API_KEY_HASH } from './identities.ts';

const { category }: typeof import('../../src/api.ts') = await import(built('api.js'));
const { createRdcp }: typeof import('../../src/index.ts') = await import(built('index.js'));

const pricing = category('PRICING');
const rdcp = createRdcp({
  server: { port: 0 },
  announce: false,
  security: { apiKeys: [{ id: 'key', hash: API_KEY_HASH, clientId: 'benchmark', scopes: ['control'] }] },
  limits: { controlPerMinute: 1e6, readPerMinute: 1e6 },
  recorder: { keepSeconds: Number(process.argv[2]) },
});
const { url: remoteControl } = await rdcp.listen();
const order = Array.from({ length: 20 }, (_, index) => ({
  sku: `SKU-${index}`,
  quantity: 1 + (index % 5),
  cents: 199,
}));

const router = new Router();
router.get('/remote-control', (ctx) => {
  ctx.body = remoteControl;
});
router.get('/prices', (ctx) => {
  ctx.body = {
    lines: order.map(({ sku, quantity, cents }) => {
      const discount = quantity >= 5 ? 0.1 : 0;
      return { sku, quantity, total: Math.round(quantity * cents * (1 - discount)) };
    }),
  };
});
router.get('/order', (ctx) => {
  ctx.body = {
    lines: order.map(({ sku, quantity, cents }) => {
      const discount = quantity >= 5 ? 0.1 : 0;
      pricing.debug('line priced', { sku, quantity, discount });
      return { sku, quantity, total: Math.round(quantity * cents * (1 - discount)) };
    }),
  };
});

const app = new Koa();
app.use(router.routes());
serve(app.callback());
