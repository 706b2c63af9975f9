import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { parseConfig } from '../../src/options/config.ts';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import { PATHS } from '../../src/wire/constants.ts';
import { assembleApp, KEYS, startServer, type TestServer } from '../support/server.ts';

/** The address that a control request is audited under. */
async function auditedAddress(
  server: TestServer,
  headers: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  const id = crypto.randomUUID();
  const request = { method: 'POST', key: 'operator', body: { action: 'status' } } as const;
  const { status } = await server.request(PATHS.control, {
    ...request,
    headers: { 'X-RDCP-Request-ID': id, ...headers },
  });
  assert.equal(status, 200);
  const { body } = await server.request<AuditResponse>(PATHS.audit, { key: 'admin' });
  return body.entries.find(({ requestId }) => requestId === id)?.source?.address;
}

const trusting = (t: TestContext, ...trustedProxies: string[]) =>
  startServer(t, { config: { server: { trustedProxies } } });

test('without trusted proxies forwarding headers are ignored', async (t) => {
  const server = await startServer(t);
  const headers = { 'X-Forwarded-For': '192.0.2.1', Forwarded: 'for=192.0.2.2' };
  assert.equal(await auditedAddress(server, headers), '127.0.0.1');
});

test('a peer that is not among the trusted proxies is not believed', async (t) => {
  const server = await trusting(t, '10.0.0.0/8', '::1', 'unix');
  assert.equal(await auditedAddress(server, { 'X-Forwarded-For': '192.0.2.1' }), '127.0.0.1');
});

test('a trusted proxy says the client, past further trusted proxies and no further', async (t) => {
  const server = await trusting(t, '127.0.0.0/8', '10.1.0.0/16', '2001:db8:1::/48');
  for (const [headers, expected] of [
    [{}, '127.0.0.1'],
    [{ 'X-Forwarded-For': '192.0.2.1' }, '192.0.2.1'],
    [{ 'X-Forwarded-For': '6.6.6.6, 192.0.2.1' }, '192.0.2.1'],
    [{ 'X-Forwarded-For': '6.6.6.6, 192.0.2.1, 10.1.2.3' }, '192.0.2.1'],
    [{ 'X-Forwarded-For': '192.0.2.1, 10.2.0.1' }, '10.2.0.1'],
    [{ 'X-Forwarded-For': '2001:db8:2::1, [2001:db8:1::7]:443' }, '2001:db8:2::1'],
    [{ 'X-Forwarded-For': '10.1.0.9, 10.1.0.1' }, '10.1.0.9'],
    [{ 'X-Forwarded-For': '192.0.2.1, unknown' }, '127.0.0.1'],
    [{ 'X-Forwarded-For': '192.0.2.1, unknown, 10.1.0.1' }, '10.1.0.1'],
    [{ Forwarded: 'for=6.6.6.6, for="[2001:db8:2::1]:4711";proto=https' }, '2001:db8:2::1'],
    [{ Forwarded: 'for=192.0.2.1, for=_hidden' }, '127.0.0.1'],
    [{ Forwarded: 'for=192.0.2.1, for=10.1.0.1' }, '192.0.2.1'],
    // A proxy that writes the one passes on the other of its client.
    [{ Forwarded: 'for=6.6.6.6', 'X-Forwarded-For': '192.0.2.1' }, '192.0.2.1'],
    [{ 'X-Forwarded-For': `6.6.6.6, ${Array(40).fill('10.1.0.1').join(', ')}` }, '10.1.0.1'],
  ] as const) {
    assert.equal(await auditedAddress(server, headers), expected, JSON.stringify(headers));
  }
});

test('clients behind a trusted proxy have each their own limits, and the proxy its own', async (t) => {
  const server = await startServer(t, {
    config: { server: { trustedProxies: ['127.0.0.1'] }, limits: { anonymousPerMinute: 2, healthPerMinute: 2 } },
  });
  const from = (address?: string) => (address === undefined ? {} : { headers: { 'X-Forwarded-For': address } });
  for (const [path, fine] of [
    [PATHS.status, 401],
    [PATHS.health, 200],
  ] as const) {
    for (const expected of [fine, fine, 429]) {
      assert.equal((await server.request(path, from('192.0.2.1'))).status, expected);
    }
    assert.equal((await server.request(path, from('192.0.2.2'))).status, fine);
    assert.equal((await server.request(path, from())).status, fine);
  }
});

test('a forwarding header grants nothing: neither a credential nor another scheme', async (t) => {
  const server = await trusting(t, '127.0.0.1');
  const headers = { Forwarded: 'for=127.0.0.1;proto=https;host=localhost', 'X-Forwarded-Proto': 'https' };
  const { status, headers: answered } = await server.request(PATHS.status, { headers });
  assert.equal(status, 401);
  assert.equal(answered.get('strict-transport-security'), null);
  const evil = { headers: { ...headers, Origin: 'https://localhost' }, key: 'status' } as const;
  assert.equal((await server.request(PATHS.status, evil)).status, 403);
});

test('mounted behind a trusted proxy, also through a Unix socket', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'rdcp-unix-'));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const [trustedProxies, expected] of [
    [['unix'], '192.0.2.1'],
    [['127.0.0.1'], 'unknown'],
  ] as const) {
    const app = await assembleApp(t, { config: { server: { trustedProxies: [...trustedProxies] } } });
    const socketPath = join(folder, `${expected}.sock`);
    const server = createServer((req, res) => app.handler(req, res)).listen(socketPath);
    t.after(() => server.close());
    const ask = (path: string, key: string) =>
      new Promise<string>((resolve, reject) => {
        const headers = { 'X-Forwarded-For': '192.0.2.1', 'X-RDCP-API-Key': key };
        const asked = request({ socketPath, path, headers, agent: false }, async (response) => {
          let text = '';
          for await (const chunk of response.setEncoding('utf8')) text += chunk;
          resolve(text);
        });
        asked.once('error', reject).end();
      });
    await ask(PATHS.tenants, KEYS.status);
    const { entries } = JSON.parse(await ask(PATHS.audit, KEYS.admin)) as AuditResponse;
    assert.equal(entries[0]?.source?.address, expected);
  }
});

test('an entry that is neither an address nor a network is a configuration error that names it', () => {
  const entries = [
    'localhost',
    '10.0.0.0/33',
    '10.0.0/8',
    '2001:db8::/129',
    '10.0.0.1/',
    '/8',
    '',
    '10.0.0.0/08',
    'fe80::1%eth0',
    '10.0.0.0/8/8',
    'proxy.example',
  ];
  for (const entry of entries) {
    assert.throws(
      () => parseConfig({ server: { trustedProxies: ['127.0.0.1', entry] } }),
      (error: Error) =>
        error.message.startsWith('configuration: server.trustedProxies.1 must be an IP address') &&
        error.message.endsWith(JSON.stringify(entry)),
      entry,
    );
  }
  parseConfig({
    server: { trustedProxies: ['0.0.0.0/0', '::/0', '10.0.0.1', '2001:db8::/32', '::ffff:10.0.0.1', 'unix'] },
  });
});
