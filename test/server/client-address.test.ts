import assert from 'node:assert/strict';
import { createServer, request } from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { forwardedFor, forwardedHops } from '../../src/endpoint/request.ts';
import { parseConfig } from '../../src/options/config.ts';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import { PATHS } from '../../src/wire/constants.ts';
import fc from '../support/fast-check.ts';
import { newFolder } from '../support/folder.ts';
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
    [{ 'X-Forwarded-For': '6.6.6.6, 192.0.2.1' }, '192.0.2.1'],
    [{ 'X-Forwarded-For': '6.6.6.6, 192.0.2.1, 10.1.2.3' }, '192.0.2.1'],
    [{ 'X-Forwarded-For': '192.0.2.1, 10.2.0.1' }, '10.2.0.1'],
    [{ 'X-Forwarded-For': '10.1.0.9, 10.1.0.1' }, '10.1.0.9'],
    [{ 'X-Forwarded-For': '192.0.2.1, unknown' }, '127.0.0.1'],
    [{ 'X-Forwarded-For': '192.0.2.1, unknown, 10.1.0.1' }, '10.1.0.1'],
    [{ Forwarded: 'for=6.6.6.6, for="[2001:db8:2::1]:4711";proto=https' }, '2001:db8:2::1'],
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
  const folder = newFolder(t);
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

const xff = (...fields: string[]) => [...forwardedFor(fields)];
const hops = (...fields: string[]) => [...forwardedHops(fields)];

test('X-Forwarded-For is read from the last address to the first, over all its fields', () => {
  assert.deepEqual(xff('192.0.2.1, 10.0.0.2', '10.0.0.1'), ['10.0.0.1', '10.0.0.2', '192.0.2.1']);
  assert.deepEqual(xff('192.0.2.1:4711,[2001:DB8::1]:80,2001:db8::2, [2001:db8::3]'), [
    '2001:db8::3',
    '2001:db8::2',
    '2001:db8::1',
    '192.0.2.1',
  ]);
  assert.deepEqual(xff('::ffff:192.0.2.1'), ['192.0.2.1']);
});

test('what is no address in X-Forwarded-For is undefined', () => {
  for (const text of [
    '',
    'unknown',
    '_hidden',
    'localhost',
    '192.0.2',
    '192.0.2.1:',
    '192.0.2.1:x',
    '192.0.2.256',
    '[::1',
    '"192.0.2.1"',
    '1.2.3.4 5.6.7.8',
  ]) {
    assert.deepEqual(xff(text), [undefined], text);
  }
  assert.deepEqual(xff('192.0.2.1,,'), [undefined, undefined, '192.0.2.1']);
});

test('Forwarded is read as RFC 7239 has it: case, quotes, ports, brackets, parameters in any order', () => {
  for (const [field, expected] of [
    ['for=192.0.2.60;proto=http;by=203.0.113.43', ['192.0.2.60']],
    ['For="[2001:db8:cafe::17]:4711"', ['2001:db8:cafe::17']],
    ['proto=https;FOR="192.0.2.60:47011"; host="a,b;c=d"', ['192.0.2.60']],
    ['for=192.0.2.43, for="[2001:db8:cafe::17]"', ['2001:db8:cafe::17', '192.0.2.43']],
    ['for="192.0.2.\\60"', ['192.0.2.60']],
    ['for="192.0.2.60:_port"', ['192.0.2.60']],
    ['for=192.0.2.60:80', ['192.0.2.60']],
    ['for=192.0.2.60;', ['192.0.2.60']],
    ['; for=192.0.2.60 ;; proto=http', ['192.0.2.60']],
  ] as const) {
    assert.deepEqual(hops(field), expected, field);
  }
});

test('an element of Forwarded that is obfuscated, unknown, malformed or without an address is undefined', () => {
  for (const field of [
    'for=unknown',
    'for=_hidden',
    'for="_SEVKISEK"',
    'proto=https',
    '',
    'for',
    'for=',
    'for=1.2.3.4;for=5.6.7.8',
    'for="1.2.3.4',
    'for=1.2.3.4;x',
    'for==1.2.3.4',
    '192.0.2.1',
  ]) {
    assert.deepEqual(hops(field), [undefined], field);
  }
});

test('what a client left open does not reach into what a proxy wrote behind it', () => {
  for (const forged of ['for="', 'for="6.6.6.6', 'for=6.6.6.6;x="\\', '"', 'x="\\"', 'a"b"c"']) {
    for (const written of ['for=192.0.2.1', 'for="[2001:db8::1]:80"', 'for="192.0.2.1";proto=https']) {
      const [nearest] = hops(`${forged}, ${written}`);
      assert.equal(nearest, hops(written)[0], `${forged}, ${written}`);
    }
  }
});

test('whatever is sent, it is read in time that grows with its length, and every address is one', () => {
  const pieces = fc.constantFrom('for=', '"', '\\', ',', ';', '1.2.3.4', '[::1]', ' ', 'a', '=', 'unknown', ':80');
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 40 }), (parts) => {
      for (const found of [...xff(parts.join('')), ...hops(parts.join(''))]) {
        assert.match(found ?? '::1', /^[0-9a-f:.]+$/);
      }
    }),
  );
  const began = performance.now();
  for (const piece of ['"', ',', ';', 'for="a\\', 'a=b;', ' ', '\\']) {
    const field = piece.repeat(16_384 / piece.length);
    hops(field);
    xff(field);
  }
  assert.ok(performance.now() - began < 30_000);
});
