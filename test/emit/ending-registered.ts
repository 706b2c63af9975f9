// A service of `register` that ends in the middle of a request.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { category } from 'opentelemetry-instrumentation-rdcp/api';

const orders = category('ORDERS');
const server = createServer(() => {
  orders.debug('begun');
  console.log('in the middle');
}).listen(0, '127.0.0.1', () => console.log(`serves on ${(server.address() as AddressInfo).port}`));
