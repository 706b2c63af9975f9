// A small Koa service, once as it is and once with a debug point for each line of an order. Both are in one process: that
// V8 compiles the same code a little differently in another one costs more than fifty points do.

import Router from '@koa/router';
import Koa from 'koa';
import { serve } from '../load/serve.ts';
import { built } from '../measurement.ts';

const { category }: typeof import('../../src/api.ts') = await import(built('api.js'));
const { createRdcp }: typeof import('../../src/index.ts') = await import(built('index.js'));

const LINES = 50;

const pricing = category('PRICING');
createRdcp({ server: false, security: { apiKeys: [] } });

interface Line {
  readonly sku: string;
  readonly quantity: number;
  readonly cents: number;
}

const order: readonly Line[] = Array.from({ length: LINES }, (_, index) => ({
  sku: `SKU-${index}`,
  quantity: 1 + (index % 5),
  cents: 199 + index * 10,
}));

function priced(lines: readonly Line[]) {
  const answer = [];
  for (const { sku, quantity, cents } of lines) {
    const discount = quantity >= 5 ? 0.1 : 0;
    answer.push({ sku, quantity, total: Math.round(quantity * cents * (1 - discount)) });
  }
  return answer;
}

function pricedWithPoints(lines: readonly Line[]) {
  const answer = [];
  for (const { sku, quantity, cents } of lines) {
    const discount = quantity >= 5 ? 0.1 : 0;
    pricing.debug('line priced', { sku, quantity, discount });
    answer.push({ sku, quantity, total: Math.round(quantity * cents * (1 - discount)) });
  }
  return answer;
}

const router = new Router();
router.get('/plain', (ctx) => {
  ctx.body = { lines: priced(order) };
});
router.get('/points', (ctx) => {
  ctx.body = { lines: pricedWithPoints(order) };
});

const app = new Koa();
app.use(router.routes());
serve(app.callback());
