// A webhook as its receiver checks it, by Standard Webhooks.

import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { service } from './service.ts';

const secret = randomBytes(32);
const receiver = createServer().listen(0, '127.0.0.1');
await once(receiver, 'listening');
const webhook = {
  url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`,
  secret: `whsec_${secret.toString('base64')}`,
};
const { rdcp, client } = await service({ notify: { webhook }, categories: { ORDERS: {} } });
const received = once(receiver, 'request');
await client.enable('ORDERS', { duration: '1m', reason: 'slow checkout' });
const [request, response] = (await received) as [IncomingMessage, { end(): void }];
const body = await text(request);
response.end();
const signed = `${request.headers['webhook-id']}.${request.headers['webhook-timestamp']}.${body}`;
const signature = createHmac('sha256', secret).update(signed).digest('base64');
assert.equal(request.headers['webhook-signature'], `v1,${signature}`);
const { type, data } = JSON.parse(body);
assert.deepEqual([type, data.categories, data.reason], ['rdcp.change', ['ORDERS'], 'slow checkout']);
await rdcp.close();
receiver.close();
