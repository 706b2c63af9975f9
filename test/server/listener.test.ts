import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { isRdcpError } from '../../src/wire/errors.ts';
import { writeCertificate } from '../support/certificate.ts';
import { listen, listenerFor } from '../support/listening.ts';
import { exchange, parseAnswer, requestText } from '../support/raw-http.ts';
import { inFull } from '../support/tiers.ts';
import { getOverTls, http2Session } from '../support/tls-client.ts';

const LISTENING = join(import.meta.dirname, '../support/listening-process.ts');

const FOLDED = 'GET / HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n';
const TUNNEL = 'CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n';

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

test('the url names the port that the system chose, and an IPv6 address in brackets', async (t) => {
  for (const [server, address] of [
    [{}, /^http:\/\/127\.0\.0\.1:[1-9]\d*$/],
    [{ host: '::1' }, /^http:\/\/\[::1\]:[1-9]\d*$/],
  ] as const) {
    const url = await listen(t, server);
    assert.match(url, address);
    assert.equal(await (await fetch(url)).text(), 'hello');
  }
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

test('a port in use is a configuration error, after which it listens at the next attempt, and closes', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const listener = listenerFor({ port: (taken.address() as AddressInfo).port });
  await assert.rejects(
    listener.listen(),
    (error) => isRdcpError(error) && error.code === 'RDCP_CONFIG_INVALID' && /port \d+ is in use/.test(error.message),
  );
  taken.close();
  await once(taken, 'close');
  const { url } = await listener.listen();
  assert.equal(await (await fetch(url)).text(), 'hello');
  await listener.close();
  await assert.rejects(fetch(url));
});

test('what is neither TLS nor HTTP ends an HTTPS connection at once', async (t) => {
  const { cert: _, ...tls } = writeCertificate();
  const url = await listen(t, { tls });
  assert.equal(parseAnswer(await exchange(url, 'hello there\r\n\r\n')), undefined);
});

test('a plain HTTP request at an HTTPS port is answered 400, in plain text, that it needs https://', async (t) => {
  const { cert, ...tls } = writeCertificate();
  const url = await listen(t, { tls });
  const body = '{"action":"status"}';
  const headers = [
    ['Host', 'localhost'],
    ['Content-Length', String(body.length)],
  ] as const;
  const text = await exchange(url, requestText('POST', '/rdcp/v1/health', headers, body));
  assertEnvelope(text, 400, 'RDCP_MALFORMED_REQUEST');
  assert.match(text, /plain HTTP request was sent to an HTTPS port: use https:\/\//);
  assert.equal((await getOverTls(url, { ca: cert })).text, 'hello', 'the next connection is served');
});

for (const [name, bytes] of [
  ['what is broken', 'nonsense\r\n\r\n'],
  ['a tunnel', TUNNEL],
] as const) {
  test(`${name} behind a request that is being worked on takes nothing from its answer, and ends the connection`, async (t) => {
    const arrived = Promise.withResolvers<ServerResponse>();
    const url = await listen(t, {}, (_req, res) => arrived.resolve(res));
    const text = await exchange(url, 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n', async (socket) => {
      const res = await arrived.promise;
      socket.write(bytes);
      socket.write('more nonsense\r\n\r\n');
      setTimeout(() => res.end('answer'), 50);
    });
    assert.equal(text.split('HTTP/1.1 ').length, 2);
    assert.equal(parseAnswer(text)?.status, 200);
    assert.equal(parseAnswer(text)?.body.includes('answer'), true);
  });
}

test('what Node refuses itself is answered in the envelope, and the connection closed', async (t) => {
  const url = await listen(t);
  const long = `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'a'.repeat(17 * 1024)}\r\n\r\n`;
  for (const [bytes, status, code] of [
    [FOLDED, 400, 'RDCP_MALFORMED_REQUEST'],
    [long, 431, 'RDCP_REQUEST_TOO_LARGE'],
    [TUNNEL, 405, 'RDCP_METHOD_NOT_ALLOWED'],
  ] as const) {
    assertEnvelope(await exchange(url, bytes), status, code);
  }
  assert.equal(parseAnswer(await exchange(url, TUNNEL))?.headers.get('allow'), '', 'a 405 says what it allows');
});

test('an upgrade is not made: the request is answered as it is', async (t) => {
  const url = await listen(t);
  for (const protocol of ['websocket', 'h2c']) {
    const upgrade = `GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\nUpgrade: ${protocol}\r\n\r\n`;
    assert.equal(parseAnswer(await exchange(url, upgrade))?.status, 200);
  }
});

test('an expectation that is not known is ignored', async (t) => {
  const url = await listen(t);
  const request = 'GET / HTTP/1.1\r\nHost: localhost\r\nExpect: miracles\r\nConnection: close\r\n\r\n';
  assert.equal(parseAnswer(await exchange(url, request))?.status, 200);
});

const STALLED = 1000;
/** Long enough for all of them to connect while others are served. */
const STALLING = {
  timeouts: { headersMs: 3000, requestMs: 3000, checkMs: 50 },
  places: { total: STALLED + 1, perAddress: STALLED + 1 },
};

inFull('a thousand stalled TLS handshakes are cut off, and others are served meanwhile', async (t) => {
  const { cert, ...tls } = writeCertificate();
  const url = await listen(t, { tls }, undefined, STALLING);
  // The beginning of a ClientHello, without its rest.
  const stalled = Array.from({ length: STALLED }, () => exchange(url, Buffer.from('16030100ff010000fb0303', 'hex')));
  assert.equal((await getOverTls(url, { ca: cert })).text, 'hello');
  for (const answer of await Promise.all(stalled)) assert.equal(answer, '');
  assert.equal((await getOverTls(url, { ca: cert })).text, 'hello');
});

inFull('neither the listener nor the connections to it keep a process alive', async (t) => {
  const { cert, certFile, keyFile } = writeCertificate();
  for (const server of [{}, { tls: { certFile, keyFile } }]) {
    const child = spawn(process.execPath, [LISTENING, JSON.stringify(server)], { stdio: ['pipe', 'pipe', 'inherit'] });
    t.after(() => child.kill('SIGKILL'));
    const ended = once(child, 'exit');
    const [url] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
    if ('tls' in server) await http2Session(t, url.trim(), { ca: cert });
    const idle = connect(Number(new URL(url).port), '127.0.0.1');
    await once(idle, 'connect');
    idle.on('error', () => undefined);
    child.stdin.end();
    assert.deepEqual(await ended, [0, null]);
    idle.destroy();
  }
});

test('a request that was answered before its body arrived gets no second answer', async (t) => {
  const timeouts = { headersMs: 100, requestMs: 200, checkMs: 50 };
  for (const rest of ['{', 'none\r\n']) {
    const url = await listen(t, {}, undefined, { timeouts });
    const framing = rest === '{' ? 'Content-Length: 1000' : 'Transfer-Encoding: chunked';
    const text = await exchange(url, `POST / HTTP/1.1\r\nHost: localhost\r\n${framing}\r\n\r\n`, (socket) => {
      socket.once('data', () => socket.write(rest));
    });
    assert.deepEqual(text.match(/HTTP\/1\.1 .*/g), ['HTTP/1.1 200 OK'], framing);
  }
});

test('one that is closed while it opens listens nowhere afterwards', async () => {
  const listener = listenerFor({}, (_req, res) => res.end());
  const opening = listener.listen();
  await listener.close();
  await assert.rejects(fetch((await opening).url));
});

test('closing does not wait for idle connections, nor for ever', async () => {
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
  const listener = listenerFor({}, () => arrive(), { timeouts: { closeMs: 50 } });
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
