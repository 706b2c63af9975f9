// Mounted in a server that the application has, and as an instrumentation of its own SDK.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { createRdcp, RdcpInstrumentation } from 'opentelemetry-instrumentation-rdcp';
import { category } from 'opentelemetry-instrumentation-rdcp/api';
import { createRdcpClient } from 'opentelemetry-instrumentation-rdcp/client';
import { API_KEYS, KEY } from './service.ts';

async function switches(baseUrl: string) {
  await createRdcpClient({ baseUrl, apiKey: KEY }).enable('ORDERS', { duration: '1m' });
  assert.equal(category('ORDERS').enabled, true);
}
category('ORDERS');
const security = { apiKeys: API_KEYS };
const rdcp = createRdcp({ server: false, security, announce: false });
const handle = rdcp.callback();
const server = createServer((request, response) => handle(request, response, () => response.end('shop'))).listen(0);
await once(server, 'listening');
const mounted = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
await switches(mounted);
assert.equal(await (await fetch(mounted)).text(), 'shop');
await rdcp.close();
server.close();
server.closeAllConnections();
assert.equal(category('ORDERS').enabled, false);

const instrumentation = new RdcpInstrumentation({ server: { port: 0 }, security, announce: false });
const sdk = new NodeSDK({ instrumentations: [instrumentation], metricReaders: [] });
sdk.start();
await switches((await instrumentation.listen()).url);
await instrumentation.close();
await sdk.shutdown();
