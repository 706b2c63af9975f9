// Fastify and debug, whose namespace is adopted as the category ORDERS. It shares no store with the other two.
import debug from 'debug';
import fastify from 'fastify';
import { serve, work } from './service.ts';

const log = debug('orders');
const app = fastify();

app.get<{ Params: { sku: string } }>('/shipping/:sku', async ({ params: { sku } }) => {
  log('route for %s', sku);
  await work();
  const days = 1 + (sku.length % 3);
  log('%s arrives in %d days', sku, days);
  return { days };
});

await app.ready();
serve(app.routing);
