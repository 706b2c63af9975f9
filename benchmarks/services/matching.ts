// A small service on node:http with one debug point in each request, and its remote control on a port of its own.

import { serve } from '../load/serve.ts';
import { built } from '../measurement.ts';
import { API_KEY_HASH } from './identities.ts';

const { category }: typeof import('../../src/api.ts') = await import(built('api.js'));
const { createRdcp }: typeof import('../../src/index.ts') = await import(built('index.js'));

const orders = category('ORDERS');
const rdcp = createRdcp({
  server: { port: 0 },
  security: { apiKeys: [{ id: 'key', hash: API_KEY_HASH, clientId: 'benchmark', scopes: ['tail'] }] },
  limits: { controlPerMinute: 1e9, readPerMinute: 1e9 },
});
const { url: remoteControl } = await rdcp.listen();
const order = { id: 7, lines: Array.from({ length: 10 }, (_, index) => ({ sku: `SKU-${index}`, quantity: 1 })) };

serve((request, response) => {
  const answer = request.url === '/remote-control' ? remoteControl : JSON.stringify(order);
  orders.debug('order read', { path: request.url });
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(answer) });
  response.end(answer);
});
