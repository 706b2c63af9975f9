import { category } from 'opentelemetry-instrumentation-rdcp/api';
import type { PriceCache } from './cache.ts';
import { restock } from './catalogue.ts';
import { creditOf } from './customers.ts';
import type { Database, Row } from './database.ts';
import { discounted } from './discounts.ts';
import type { Prices } from './prices.ts';
import { Refusal } from './refusal.ts';
import type { Shipping } from './shipping.ts';

const ORDERS = category('ORDERS', {
  description: 'An order on its way: asked for, priced, accepted or refused and why',
});

interface Order {
  readonly id: number;
  readonly sku: string;
  readonly quantity: number;
  readonly cents: number;
}

export interface Orders {
  place(customer: string, sku: string, quantity: number): Promise<Order>;
  recent(customer: string): Row[];
}

export function createOrders(parts: {
  database: Database;
  cache: PriceCache;
  prices: Prices;
  shipping: Shipping;
}): Orders {
  const { database, cache, prices, shipping } = parts;

  function refuse(status: 404 | 409, message: string): never {
    ORDERS.debug('refused', { 'shop.reason': message });
    throw new Refusal(status, message);
  }

  function accept(customer: string, sku: string, quantity: number, cents: number): Order {
    return database.transaction(() => {
      const taken = database.run(
        'UPDATE products SET stock = stock - ? WHERE sku = ? AND stock >= ?',
        quantity,
        sku,
        quantity,
      );
      if (taken === 0) refuse(409, 'out of stock');
      const [row] = database.all(
        'INSERT INTO orders (customer, sku, quantity, cents, placed_at) VALUES (?, ?, ?, ?, ?) RETURNING id',
        customer,
        sku,
        quantity,
        cents,
        new Date().toISOString(),
      );
      const id = Number(row?.id);
      shipping.queue(id);
      return { id, sku, quantity, cents };
    });
  }

  return {
    place: (customer, sku, quantity) =>
      ORDERS.span('place order', async (span) => {
        span?.setAttribute('user.id', customer);
        ORDERS.debug('asked for', { 'user.id': customer, 'shop.sku': sku, 'shop.quantity': quantity });
        if (database.all('SELECT 1 FROM products WHERE sku = ?', sku).length === 0) refuse(404, 'no such product');
        const cents = discounted(quantity, await cache.get(sku, prices.of));
        const credit = creditOf(customer);
        if (cents > credit) {
          ORDERS.debug('over the credit limit', { 'shop.cents': cents, 'shop.credit_cents': credit });
          refuse(409, 'order not possible');
        }
        const order = accept(customer, sku, quantity, cents);
        ORDERS.debug('accepted', { 'shop.order': order.id, 'shop.cents': cents });
        // The warehouse fills low shelves between two orders, so now and then a customer finds one empty.
        if (order.id % 10 === 0) restock(database);
        return order;
      }),

    recent: (customer) =>
      database.all(
        'SELECT id, sku, quantity, cents, state FROM orders WHERE customer = ? ORDER BY id DESC LIMIT 10',
        customer,
      ),
  };
}
