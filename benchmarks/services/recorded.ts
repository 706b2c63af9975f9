// A small Koa service with twenty debug points in each order. Its argument is what becomes of their calls: `off`, `recorded` for the
// time of the request, `kept` for a minute after it, or `pino`, which writes the same lines to a file.

import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PerformanceObserver } from 'node:perf_hooks';
import Router from '@koa/router';
import Koa from 'koa';
import { destination, pino } from 'pino';
import { serve } from '../load/serve.ts';
import { built } from '../measurement.ts';

const { category }: typeof import('../../src/api.ts') = await import(built('api.js'));
const { createRdcp }: typeof import('../../src/index.ts') = await import(built('index.js'));

const [, , what] = process.argv;
type Debug = (message: string, attributes: { readonly [name: string]: unknown }) => void;

function recording(): Debug {
  const categories = what === 'off' ? [] : ['PRICING'];
  const recorder = { categories, keepSeconds: what === 'kept' ? 60 : 0 };
  createRdcp({ server: false, announce: false, security: { apiKeys: [] }, recorder });
  const pricing = category('PRICING');
  return (message, attributes) => pricing.debug(message, attributes);
}

function writing(): Debug {
  const folder = mkdtempSync(join(tmpdir(), 'rdcp-recorded-'));
  process.once('exit', () => rmSync(folder, { recursive: true }));
  const logger = pino({ name: 'pricing', level: 'debug' }, destination(join(folder, 'lines')));
  return (message, attributes) => logger.debug(attributes, message);
}

const debug = what === 'pino' ? writing() : recording();
let collecting = 0;
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) collecting += duration;
}).observe({ entryTypes: ['gc'] });

const order = Array.from({ length: 20 }, (_, index) => ({
  sku: `SKU-${index}`,
  quantity: 1 + (index % 5),
  cents: 199,
}));

const router = new Router();
router.get('/collecting', (ctx) => {
  ctx.body = { milliseconds: collecting };
});
router.get('/prices', (ctx) => {
  ctx.body = {
    lines: order.map(({ sku, quantity, cents }) => {
      const discount = quantity >= 5 ? 0.1 : 0;
      return { sku, quantity, total: Math.round(quantity * cents * (1 - discount)) };
    }),
  };
});
/** @param rounds of work beside the order, of some microseconds each */
router.get('/order/:rounds', (ctx) => {
  for (let round = Number(ctx.params.rounds); round > 0; round--) createHash('sha256').update(`${round}`).digest();
  ctx.body = {
    lines: order.map(({ sku, quantity, cents }) => {
      const discount = quantity >= 5 ? 0.1 : 0;
      debug('line priced', { sku, quantity, discount });
      return { sku, quantity, total: Math.round(quantity * cents * (1 - discount)) };
    }),
  };
});

const app = new Koa();
app.use(router.routes());
serve(app.callback());
