import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { parseConfig } from '../../src/config.ts';
import { isRdcpError } from '../../src/errors.ts';
import type { RequestHandler } from '../../src/server/app.ts';
import { createListener, type ListenerTimeouts } from '../../src/server/listener.ts';
import { writeCertificate } from '../support/certificate.ts';
import { exchange, parseAnswer } from '../support/raw-http.ts';

const hello: RequestHandler = (_req, res) => void res.end('hello');

function listenerFor(server: object, handler: RequestHandler = hello, timeouts: Partial<ListenerTimeouts> = {}) {
  const config = parseConfig({ server: { port: 0, ...server } }).server;
  assert.ok(config !== false);
  return createListener(config, handler, { timeouts });
}

async function start(
  t: TestContext,
  server: object = {},
  handler?: RequestHandler,
  timeouts?: Partial<ListenerTimeouts>,
): Promise<string> {
  const listener = listenerFor(server, handler, timeouts);
  t.after(() => listener.close());
  return (await listener.listen()).url;
}

function assertEnvelope(text: string, status: number, code: string): void {
  const answer = parseAnswer(text);
  assert.equal(answer?.status, status);
  assert.equal(answer?.headers.get('x-rdcp-protocol'), 'rdcp/1.0');
  assert.match(answer?.headers.get('x-rdcp-request-id') ?? '', /^[0-9a-f-]{36}$/);
  assert.match(answer?.headers.get('content-type') ?? '', /^application\/json/);
  const body = JSON.parse(answer?.body ?? '');
  assert.equal(body.protocol, 'rdcp/1.0');
  assert.equal(body.error.protocol, 'rdcp/1.0');
  assert.equal(body.error.code, code);
}

test('the url names the port that the system chose', async (t) => {
  const url = await start(t);
  assert.match(url, /^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
  assert.equal(await (await fetch(url)).text(), 'hello');
});

test('an IPv6 address stands in brackets in the url', async (t) => {
  const url = await start(t, { host: '::1' });
  assert.match(url, /^http:\/\/\[::1\]:\d+$/);
  assert.equal(await (await fetch(url)).text(), 'hello');
});

test('plain HTTP on an address that is not loopback is refused in one line that names the field', () => {
  for (const host of ['0.0.0.0', '::', '192.168.1.1', 'example.test']) {
    assert.throws(
      () => listenerFor({ host }),
      (error) =>
        isRdcpError(error) &&
        error.code === 'RDCP_CONFIG_INVALID' &&
        error.message.includes('server.host') &&
        !error.message.includes('\n'),
    );
  }
  for (const host of ['localhost', '127.0.0.1', '127.8.8.8', '::1']) listenerFor({ host });
  listenerFor({ host: '0.0.0.0', behindTlsProxy: true });
});

test('a port in use is a configuration error', async (t) => {
  const url = await start(t);
  const second = listenerFor({ port: Number(new URL(url).port) });
  await assert.rejects(
    second.listen(),
    (error) => isRdcpError(error) && error.code === 'RDCP_CONFIG_INVALID' && /port \d+ is in use/.test(error.message),
  );
});

test('a certificate that cannot be read or is none is a configuration error without its path', async () => {
  const { certFile } = writeCertificate();
  const garbage = join(mkdtempSync(join(tmpdir(), 'rdcp-garbage-')), 'key.pem');
  writeFileSync(garbage, 'not a key');
  for (const keyFile of ['/nowhere/key.pem', garbage]) {
    await assert.rejects(
      listenerFor({ tls: { certFile, keyFile } }).listen(),
      (error) => isRdcpError(error) && error.code === 'RDCP_CONFIG_INVALID' && !error.message.includes('key.pem'),
    );
  }
});

test('HTTPS is served over TLS 1.3 and nothing older', async (t) => {
  const { cert, ...tls } = writeCertificate();
  const url = await start(t, { tls });
  assert.match(url, /^https:/);
  const get = (options: object) => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const request = httpsRequest(url, { ca: cert, agent: false, ...options }, (response) => {
      const { socket } = response;
      resolve('getProtocol' in socket ? String((socket.getProtocol as () => string)()) : '');
      response.resume();
    });
    request.once('error', reject);
    request.end();
    return promise;
  };
  assert.equal(await get({}), 'TLSv1.3');
  await assert.rejects(get({ maxVersion: 'TLSv1.2' }));
});

test('what is no TLS ends an HTTPS connection at once', async (t) => {
  const { cert: _, ...tls } = writeCertificate();
  const url = await start(t, { tls });
  assert.equal(parseAnswer(await exchange(url, 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')), undefined);
});

test('what is broken behind a request that is being worked on takes nothing from its answer, and ends the connection', async (t) => {
  const arrived = Promise.withResolvers<ServerResponse>();
  const url = await start(t, {}, (_req, res) => arrived.resolve(res));
  const text = await exchange(url, 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n', async (socket) => {
    const res = await arrived.promise;
    socket.write('nonsense\r\n\r\n');
    socket.write('more nonsense\r\n\r\n');
    setTimeout(() => res.end('answer'), 50);
  });
  assert.equal(text.split('HTTP/1.1 ').length, 2);
  assert.equal(parseAnswer(text)?.status, 200);
  assert.equal(parseAnswer(text)?.body.includes('answer'), true);
});

const BROKEN: readonly (readonly [name: string, bytes: string, status: number, code: string])[] = [
  ['no HTTP at all', 'hello there\r\n\r\n', 400, 'RDCP_MALFORMED_REQUEST'],
  ['a TLS hello', '\x16\x03\x01\x02\x00\x01\x00', 400, 'RDCP_MALFORMED_REQUEST'],
  ['a bad version', 'GET / HTTP/9.9\r\nHost: localhost\r\n\r\n', 400, 'RDCP_MALFORMED_REQUEST'],
  ['a NUL in a header', 'GET / HTTP/1.1\r\nHost: localhost\r\nX: a\0b\r\n\r\n', 400, 'RDCP_MALFORMED_REQUEST'],
  ['a folded header', 'GET / HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n', 400, 'RDCP_MALFORMED_REQUEST'],
  ['a space before the colon', 'GET / HTTP/1.1\r\nHost : localhost\r\n\r\n', 400, 'RDCP_MALFORMED_REQUEST'],
  [
    'two lengths',
    'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
    400,
    'RDCP_MALFORMED_REQUEST',
  ],
  [
    'a length beside chunks',
    'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    400,
    'RDCP_MALFORMED_REQUEST',
  ],
  [
    'a header of 17 KiB',
    `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'a'.repeat(17 * 1024)}\r\n\r\n`,
    431,
    'RDCP_REQUEST_TOO_LARGE',
  ],
  ['a tunnel', 'CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n', 405, 'RDCP_METHOD_NOT_ALLOWED'],
];

for (const [name, bytes, status, code] of BROKEN) {
  test(`${name} is answered ${status} in the envelope, and the connection closed`, async (t) => {
    const url = await start(t);
    assertEnvelope(await exchange(url, Buffer.from(bytes, 'latin1')), status, code);
  });
}

test('an upgrade is not made: the request is answered as it is', async (t) => {
  const url = await start(t);
  const upgrade = 'GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n';
  assert.equal(parseAnswer(await exchange(url, upgrade))?.status, 200);
});

test('an expectation that is not known is ignored', async (t) => {
  const url = await start(t);
  const request = 'GET / HTTP/1.1\r\nHost: localhost\r\nExpect: miracles\r\nConnection: close\r\n\r\n';
  assert.equal(parseAnswer(await exchange(url, request))?.status, 200);
});

test('stalled connections are closed by the header timeout with 408, and others are served meanwhile', async (t) => {
  const url = await start(t, {}, hello, { headersMs: 150, requestMs: 300, checkMs: 50 });
  const stalled = Array.from({ length: 50 }, () => exchange(url, 'GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: '));
  assert.equal(await (await fetch(url)).text(), 'hello');
  for (const answer of await Promise.all(stalled)) assertEnvelope(answer, 408, 'RDCP_TIMEOUT');
});

test('a body that drips is cut off by the request timeout', async (t) => {
  const swallow: RequestHandler = (req) => void req.resume();
  const url = await start(t, {}, swallow, { headersMs: 100, requestMs: 200, checkMs: 50 });
  const slow = 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{';
  assertEnvelope(await exchange(url, slow), 408, 'RDCP_TIMEOUT');
});

test('closing answers what is in flight, then nothing listens any more', async () => {
  const { promise: release, resolve } = Promise.withResolvers<void>();
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
  const listener = listenerFor({}, async (_req, res) => {
    arrive();
    await release;
    res.end('late');
  });
  const { url } = await listener.listen();
  const response = fetch(url);
  await arrived;
  const closed = listener.close();
  resolve();
  assert.equal((await response).headers.get('connection'), 'close');
  assert.equal(await (await response).text(), 'late');
  await closed;
  await assert.rejects(fetch(url));
});

test('closing does not wait for idle connections, nor for ever', async () => {
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
  const listener = listenerFor({}, () => arrive(), { closeMs: 50 });
  const { url } = await listener.listen();
  const idle = connect(Number(new URL(url).port), '127.0.0.1');
  idle.on('error', () => undefined);
  const hanging = assert.rejects(fetch(url));
  await arrived;
  await listener.close();
  await hanging;
});

test('a listener that never listened closes', async () => {
  await listenerFor({}).close();
});
