// Express and pino: the logger is adopted, as the category ORDERS.
import express from 'express';
import { pino } from 'pino';
import { next, serve, work } from './service.ts';

const log = pino({ name: 'orders' });
const app = express();

app.get('/orders/:sku', async (request, response) => {
  const { sku } = request.params;
  log.debug({ sku }, 'order asked for');
  await work();
  const reserved = await next<{ left: number; days: number }>(`/stock/${sku}`);
  await work();
  log.debug({ sku, days: reserved.days }, 'order accepted');
  response.json({ sku, ...reserved });
});

serve(app);
