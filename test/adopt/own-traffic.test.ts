import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRdcp } from '../../src/rdcp.ts';

const KEY = 'a-secret-of-thirty-two-characters';
const HASH = `sha256:${createHash('sha256').update(KEY).digest('hex')}`;

it('an output that makes requests, and a mounted endpoint, cause no lines of their own', async (t) => {
  const received: string[] = [];
  const collector = createServer((_req, res) => res.end()).listen(0, '127.0.0.1');
  t.after(() => {
    collector.closeAllConnections();
    collector.close();
  });
  await once(collector, 'listening');
  const { port: collectorPort } = collector.address() as AddressInfo;
  const on = ['HTTP_SERVER', 'HTTP_CLIENT', 'UNDICI', 'NET', 'PAYMENTS'];
  const rdcp = createRdcp({
    server: false,
    adopt: { channels: true },
    security: { apiKeys: [{ id: 'k', clientId: 'k', hash: HASH, scopes: ['status'] }] },
    categories: Object.fromEntries(on.map((name) => [name, { enabled: true }])),
    emit: {
      to: async ({ category, message, attributes }) => {
        if (attributes['url.path'] !== '/collect') received.push(`${category} ${message}`);
        await sleep(1);
        await (await fetch(`http://127.0.0.1:${collectorPort}/collect`)).text();
      },
    },
  });
  t.after(() => rdcp.close());
  const handle = rdcp.callback();
  const app = createServer((req, res) => handle(req, res, () => res.end('app'))).listen(0, '127.0.0.1');
  t.after(() => {
    app.closeAllConnections();
    app.close();
  });
  await once(app, 'listening');
  const url = `http://127.0.0.1:${(app.address() as AddressInfo).port}`;
  received.length = 0;
  const ask = async (path: string) => {
    const headers = { 'X-RDCP-API-Key': KEY };
    const response = await fetch(url + path, { headers });
    await response.text();
    await sleep(50);
    const lines = received.splice(0).filter((line) => !line.startsWith('NET '));
    return [response.status, ...lines];
  };
  const asked = ['UNDICI request started', 'UNDICI response received'];
  assert.deepEqual(await ask('/rdcp/v1/status'), [200, ...asked]);
  assert.deepEqual(
    (await ask('/orders')).sort(),
    [200, ...asked, 'HTTP_SERVER request received', 'HTTP_SERVER response sent'].sort(),
  );
  rdcp.category('PAYMENTS').debug('charging');
  await sleep(100);
  // The collector is a server of this process as well.
  assert.deepEqual(
    received.filter((line) => !line.startsWith('NET connection accepted')),
    ['PAYMENTS charging'],
  );
});
