import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { test } from 'node:test';
import { createHostPolicy } from '../../src/endpoint/middleware/headers.ts';
import { parseConfig } from '../../src/options/config.ts';
import type { RdcpConfig } from '../../src/options/options.ts';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import { HEADERS, PATHS } from '../../src/wire/constants.ts';
import type { ControlResponse, StatusResponse } from '../../src/wire/messages.ts';
import { isAddressConnectedTo, isLoopback } from '../../src/wire/net/hosts.ts';
import { writeCertificate } from '../support/certificate.ts';
import { portOf } from '../support/listening.ts';
import { exchange, parseAnswer, requestText } from '../support/raw-http.ts';
import { assembleApp, KEYS, startServer } from '../support/server.ts';

/** Addresses of this machine other than loopback. Link-local ones need a zone to be reached. */
const OWN = Object.values(networkInterfaces())
  .flatMap((each) => each ?? [])
  .filter(({ internal, address }) => !internal && !address.startsWith('fe80:'))
  .map(({ address }) => address);

const literal = (address: string) => (address.includes(':') ? `[${address}]` : address);

async function ask(url: string, request: string) {
  const answer = parseAnswer(await exchange(url, request));
  return { status: answer?.status, error: JSON.parse(answer?.body || '{}').error };
}

test('a probe of HTTP/1.0 without Host is answered', async (t) => {
  const { url } = await startServer(t);
  assert.equal((await ask(url, `GET ${PATHS.health} HTTP/1.0\r\n\r\n`)).status, 200);
  assert.equal((await ask(url, `HEAD ${PATHS.health} HTTP/1.0\r\n\r\n`)).status, 200);
  assert.equal((await ask(url, `GET ${url}${PATHS.health} HTTP/1.0\r\n\r\n`)).status, 200);
});

test('HTTP/1.1 needs a Host, and HTTP/1.0 a right one where it has one', async (t) => {
  const { url } = await startServer(t);
  for (const [request, status] of [
    [`GET ${PATHS.health} HTTP/1.1\r\nConnection: close\r\n\r\n`, 400],
    [`GET ${url}${PATHS.health} HTTP/1.1\r\nConnection: close\r\n\r\n`, 400],
    [`GET ${PATHS.health} HTTP/1.0\r\nHost:\r\n\r\n`, 400],
    [`GET ${PATHS.health} HTTP/1.0\r\nHost: evil.test\r\n\r\n`, 403],
    [`GET http://evil.test${PATHS.health} HTTP/1.0\r\n\r\n`, 403],
    [`GET ${PATHS.health} HTTP/1.0\r\nOrigin: http://evil.test\r\n\r\n`, 403],
  ] as const) {
    assert.equal((await ask(url, request)).status, status, request);
  }
});

test('a probe by the address that it is connected to is answered, as kubelet sends it', async (t) => {
  assert.ok(OWN.length > 0, 'this machine has an address beside loopback');
  for (const host of ['0.0.0.0', '::']) {
    const { url } = await startServer(t, { config: { server: { host, behindTlsProxy: true } } });
    const { port } = new URL(url);
    const reachable = OWN.filter((address) => host === '::' || !address.includes(':'));
    for (const address of reachable) {
      const at = `http://${literal(address)}:${port}`;
      const get = (name: string) =>
        ask(
          at,
          `GET ${PATHS.health} HTTP/1.1\r\nHost: ${name}\r\nUser-Agent: kube-probe/1.30\r\nConnection: close\r\n\r\n`,
        );
      assert.equal((await get(`${literal(address)}:${port}`)).status, 200, address);
      assert.equal((await get(literal(address))).status, 200, address);
      if (!address.includes(':')) assert.equal((await get(`[::ffff:${address}]:${port}`)).status, 200);
      for (const other of ['198.51.100.7', '[2001:db8::7]', '0.0.0.0.evil.test', ...OWN.map(literal)]) {
        if (other === literal(address)) continue;
        assert.equal((await get(other)).status, 403, `${other} at ${address}`);
      }
    }
  }
});

test('the refusal of a Host names the option, and no configured name', async (t) => {
  const { url } = await startServer(t, { config: { server: { allowedHosts: ['debug.example'] } } });
  const request = `GET ${PATHS.health} HTTP/1.1\r\nHost: other.example\r\nConnection: close\r\n\r\n`;
  const { status, error } = await ask(url, request);
  assert.equal(status, 403);
  assert.match(error.message, /server\.allowedHosts/);
  assert.deepEqual(error.details, { field: 'Host', option: 'server.allowedHosts' });
  assert.ok(!JSON.stringify(error).includes('debug.example'));
});

test('an address is compared as such, however it is written, and a name never', () => {
  const at = (localAddress?: string) => ({ localAddress }) as never;
  for (const [host, address] of [
    ['192.0.2.1', '192.0.2.1'],
    ['192.0.2.1', '::ffff:192.0.2.1'],
    ['[::ffff:c000:201]', '192.0.2.1'],
    ['[2001:DB8:0::1]', '2001:db8::1'],
    ['[fe80::1]', 'fe80::1%eth0'],
  ] as const) {
    assert.equal(isAddressConnectedTo(host, at(address)), true, host);
  }
  for (const [host, address] of [
    ['192.0.2.2', '192.0.2.1'],
    ['192.0.2.01', '192.0.2.1'],
    ['3221225985', '192.0.2.1'],
    ['192.0.2.1.', '192.0.2.1'],
    ['192.0.2.1.nip.io', '192.0.2.1'],
    ['localhost', '192.0.2.1'],
    ['192.0.2.1', undefined],
    ['', undefined],
  ] as const) {
    assert.equal(isAddressConnectedTo(host, at(address)), false, host);
  }
});

const KEY = [HEADERS.apiKey, KEYS.admin] as const;

/** What a server answers to a target, sent as it is. */
async function askAt(url: string, target: string, headers: (readonly [string, string])[] = [['Host', 'localhost']]) {
  const answer = parseAnswer(await exchange(url, requestText('GET', target, [...headers, KEY])));
  const body = JSON.parse(answer?.body ?? '');
  return { status: answer?.status, code: body.error?.code as string | undefined, body };
}

test('a target in absolute form is answered as in origin form, query and all', async (t) => {
  const server = await startServer(t);
  const { host } = new URL(server.url);
  for (const origin of [`http://${host}`, 'http://localhost', 'HTTP://LOCALHOST:80', 'http://[::1]:9465']) {
    const { status, body } = await askAt(server.url, origin + PATHS.status);
    assert.equal(status, 200, origin);
    assert.deepEqual(Object.keys((body as StatusResponse).categories), ['DATABASE', 'HTTP', 'X-CUSTOM']);
  }
  const body = '{"action":"enable","categories":"HTTP"}';
  const headers = [KEY, ['Host', host], ['Content-Type', 'application/json'], ['Content-Length', '39']] as const;
  const control = requestText('POST', `http://${host}${PATHS.control}`, headers, body);
  const changed = JSON.parse(parseAnswer(await exchange(server.url, control))?.body ?? '') as ControlResponse;
  assert.equal(changed.changes[0]?.newState, true);
  const page = await askAt(server.url, `http://${host}${PATHS.audit}?action=enable&limit=1`);
  assert.equal((page.body as AuditResponse).entries.length, 1);
  assert.equal((await askAt(server.url, `http://${host}${PATHS.audit}?limit=0`)).status, 400);
});

test('the host of such a target counts in place of Host, and must be one that the server goes by', async (t) => {
  const server = await startServer(t, { config: { server: { allowedHosts: ['debug.example'] } } });
  const target = `http://debug.example${PATHS.status}`;
  assert.equal((await askAt(server.url, target, [['Host', 'elsewhere.test']])).status, 200);
  for (const target of ['http://localhost', 'http://localhost?x=/rdcp/v1/status']) {
    assert.equal((await askAt(server.url, target)).status, 404, target);
  }
});

test('a Host is required beside it all the same, once and well-formed', async (t) => {
  const server = await startServer(t);
  const host = (value: string) => ['Host', value] as const;
  for (const headers of [[], [host('a b')], [host('localhost'), host('localhost')]]) {
    const { status, code } = await askAt(server.url, `http://localhost${PATHS.status}`, headers);
    assert.deepEqual([status, code], [400, 'RDCP_MALFORMED_REQUEST'], JSON.stringify(headers));
  }
});

test('an Origin must be that of the target', async (t) => {
  const server = await startServer(t);
  const from = (origin: string) =>
    askAt(server.url, `http://localhost${PATHS.status}`, [
      ['Host', 'evil.test'],
      ['Origin', origin],
    ]);
  assert.equal((await from('http://localhost')).status, 200);
  assert.equal((await from('http://evil.test')).status, 403);
});

test('over TLS the target is an https one', async (t) => {
  const { cert, ...tls } = writeCertificate();
  const server = await startServer(t, { config: { server: { tls } } as RdcpConfig });
  for (const [scheme, expected] of [
    ['https', 200],
    ['http', 403],
  ] as const) {
    const path = `${scheme}://localhost${PATHS.status}`;
    const request = get(server.url, { ca: cert, agent: false, path, headers: { [HEADERS.apiKey]: KEYS.admin } });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    assert.equal(response.resume().statusCode, expected, scheme);
  }
});

test('mounted, our paths are recognized in absolute form too, for any host', async (t) => {
  const app = await assembleApp(t, { config: { server: false } });
  const server = createServer((req, res) => app.handler(req, res, () => res.end(JSON.stringify({ target: req.url }))));
  const url = `http://127.0.0.1:${await portOf(t, server)}`;
  assert.equal((await askAt(url, `https://app.example${PATHS.status}`)).body.protocol, 'rdcp/1.0');
  for (const target of [
    'http://app.example/',
    'http://app.example/rdcp',
    'http://rdcp/v1/status',
    'http://a?/rdcp/v1/status',
  ]) {
    assert.deepEqual((await askAt(url, target)).body, { target }, 'untouched');
  }
});

function policyFor(server: object) {
  const config = parseConfig({ server }).server;
  assert.ok(config !== false);
  return createHostPolicy(config);
}

test('loopback is localhost, all of 127.0.0.0/8 and ::1, and nothing that looks like it', () => {
  for (const host of ['localhost', 'LOCALHOST', '127.0.0.1', '127.255.255.254', '::1', '[::1]']) {
    assert.equal(isLoopback(host), true, host);
  }
  for (const host of [
    '0.0.0.0',
    '::',
    '128.0.0.1',
    'localhost.evil.test',
    'evil-localhost',
    '127.0.0.1.evil.test',
    '127.1',
    '0177.0.0.1',
    '2130706433',
    'localhost.',
    '192.168.0.1',
    '',
  ]) {
    assert.equal(isLoopback(host), false, host);
  }
});

test('a host policy allows loopback names, the configured host and the allowed hosts, in any case', () => {
  const socket = new Socket();
  const policy = policyFor({
    host: '10.0.0.5',
    behindTlsProxy: true,
    allowedHosts: ['Debug.Example.test', '2001:db8::5'],
  });
  for (const host of ['localhost', '10.0.0.5', 'debug.example.test', 'DEBUG.example.TEST', '[2001:db8::5]']) {
    assert.equal(policy.allows(host, socket), true, host);
  }
  for (const host of ['evil.test', 'example.test', 'sub.debug.example.test', '10.0.0.6']) {
    assert.equal(policy.allows(host, socket), false, host);
  }
});

test('clients reach plain HTTP as http, TLS as https, and what is behind a proxy as either', () => {
  assert.deepEqual(policyFor({}).schemes, ['http']);
  assert.deepEqual(policyFor({ tls: { certFile: 'c', keyFile: 'k' } }).schemes, ['https']);
  assert.deepEqual(policyFor({ behindTlsProxy: true }).schemes, ['http', 'https']);
});
