import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createApp } from './app.ts';
import { createPriceCache } from './cache.ts';
import { stock } from './catalogue.ts';
import { createCustomers } from './customers.ts';
import { openDatabase } from './database.ts';
import { createOrders } from './orders.ts';
import { createPrices } from './prices.ts';
import { seededRandom } from './random.ts';
import { startShipping } from './shipping.ts';
import { startTraffic, type Tally } from './traffic.ts';

export interface Shop {
  readonly url: string;
  readonly tally: Tally;
  /** No new request, every accepted one answered, the database closed. */
  close(): Promise<void>;
}

/** The whole example wired up: the service, the price service it calls, and customers who keep it busy. */
export async function openShop(options: {
  port: number;
  database: string;
  seed: number;
  requestsPerSecond: number;
  /** Companies that the customers buy for. @default none */
  tenants?: readonly string[];
}): Promise<Shop> {
  const random = seededRandom(options.seed);
  const database = openDatabase(options.database);
  stock(database);

  const customers = createCustomers();
  const shipping = startShipping(database, random);
  const cache = createPriceCache({ entries: 4, milliseconds: 5000 });
  const prices = createPrices(() => url);
  const orders = createOrders({ database, cache, prices, shipping });

  const server = createServer(createApp({ customers, orders, random, tenants: options.tenants ?? [] }).callback());
  server.listen(options.port, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const traffic = startTraffic({ baseUrl: url, customers, random, perSecond: options.requestsPerSecond });

  return {
    url,
    tally: traffic.tally,
    async close() {
      await traffic.stop();
      server.close();
      await once(server, 'close');
      shipping.stop();
      database.close();
    },
  };
}
