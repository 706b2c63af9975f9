import Router from '@koa/router';
import Koa from 'koa';
import { koaBody } from 'koa-body';
import { runWithAttributes, runWithTenant } from 'opentelemetry-instrumentation-rdcp/api';
import { z } from 'zod';
import { CUSTOMERS, type Customers } from './customers.ts';
import type { Orders } from './orders.ts';
import { priceService } from './price-service.ts';
import type { Random } from './random.ts';
import { Refusal } from './refusal.ts';
import { requestSpans } from './request-spans.ts';

const orderRequest = z.strictObject({ sku: z.string().min(1).max(64), quantity: z.number().int().min(1).max(20) });

interface State {
  customer: string;
}

/** Every route of the shop, with what it goes through, in order. */
export function createApp(parts: {
  customers: Customers;
  orders: Orders;
  random: Random;
  tenants: readonly string[];
}): Koa {
  const { customers, orders, random, tenants } = parts;
  const forCustomers = onlyCustomers(customers, tenants);

  const shop = new Router<State>();
  shop.get('/', (ctx) => {
    ctx.body = { shop: 'open' };
  });
  shop.get('/orders', forCustomers, (ctx) => {
    ctx.body = { orders: orders.recent(ctx.state.customer) };
  });
  shop.post('/orders', forCustomers, koaBody({ multipart: false, text: false, urlencoded: false }), async (ctx) => {
    const request = orderRequest.safeParse(ctx.request.body);
    if (!request.success) throw new Refusal(400, 'an order is { sku, quantity }');
    ctx.status = 201;
    ctx.body = await orders.place(ctx.state.customer, request.data.sku, request.data.quantity);
  });

  const app = new Koa();
  app.use(requestSpans);
  app.use(answerErrors);
  app.use(shop.routes());
  app.use(priceService(random).routes());
  return app;
}

/**
 * What follows is done for the customer, and can be asked for: `rdcp tail ORDERS -m user.id=42`.
 * @param tenants companies that the customers buy for, by turns; what is done for a customer is that company's
 */
function onlyCustomers(customers: Customers, tenants: readonly string[]): Koa.Middleware<State> {
  return async (ctx, next) => {
    const customer = await customers.identify(ctx.req.headers.authorization);
    if (customer === undefined) throw new Refusal(401, 'a token of a customer is needed');
    ctx.state.customer = customer;
    const tenant = tenants[(CUSTOMERS as readonly string[]).indexOf(customer) % tenants.length];
    await runWithAttributes({ 'user.id': customer }, () =>
      tenant === undefined ? next() : runWithTenant(tenant, next),
    );
  };
}

const answerErrors: Koa.Middleware = async (ctx, next) => {
  try {
    await next();
  } catch (error) {
    const { status, message } = answerTo(error);
    ctx.status = status;
    ctx.body = { error: message };
    if (status === 500) console.error(error);
  }
};

function answerTo(error: unknown): { status: number; message: string } {
  const meantForTheCustomer = error instanceof Refusal || (error instanceof Koa.HttpError && error.expose);
  return meantForTheCustomer ? error : { status: 500, message: 'the shop has a problem' };
}
