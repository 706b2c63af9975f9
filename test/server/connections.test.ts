import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type ClientHttp2Session, type ClientHttp2Stream, constants } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { RequestHandler } from '../../src/endpoint/app.ts';
import { Connections } from '../../src/endpoint/connections/connections.ts';
import type { ListenerOptions } from '../../src/endpoint/connections/listener.ts';
import { PATHS } from '../../src/wire/constants.ts';
import { writeCertificate } from '../support/certificate.ts';
import { recordConditions } from '../support/conditions.ts';
import { listen, portOf } from '../support/listening.ts';
import { exchange, parseAnswer, requestText } from '../support/raw-http.ts';
import { KEYS, startServer } from '../support/server.ts';
import { getOverTls, http2Request, http2Session } from '../support/tls-client.ts';
import { until } from '../support/until.ts';

const { cert, ...tls } = writeCertificate();
const ca = { ca: cert };

/** What the default allows one address. */
const SHARE = 64;
const HALF = 'GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ';

interface Held {
  readonly socket: Socket;
  readonly closed: Promise<unknown>;
}

/** Connections that stay open as long as the server lets them. */
async function hold(t: TestContext, url: string, count: number, bytes = '', localAddress = '127.0.0.1') {
  const { hostname: host, port } = new URL(url);
  const held: Held[] = [];
  for (let index = 0; index < count; index += 1) {
    const socket = connect({ port: Number(port), host, localAddress });
    t.after(() => socket.destroy());
    socket.on('error', () => undefined);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.resume();
    await once(socket, 'connect');
    if (bytes !== '') socket.write(bytes);
    held.push({ socket, closed });
  }
  return held;
}

/** How many are open once as many as expected are. */
async function open(held: readonly Held[], expected: number): Promise<number> {
  const count = () => held.filter(({ socket }) => !socket.closed).length;
  await until(`at most ${expected} connections are open`, () => count() <= expected);
  return count();
}

/** A handler whose answers wait until they are released. */
function waiting() {
  const arrived: ServerResponse[] = [];
  const handler: RequestHandler = (_req, res) => void arrived.push(res);
  const untilArrived = async (count: number) => {
    await until(`${count} requests`, () => arrived.length >= count);
  };
  return { handler, arrived, untilArrived };
}

function listening(t: TestContext, options: ListenerOptions = {}, server: object = {}, handler?: RequestHandler) {
  return listen(t, server, handler, options);
}

for (const [name, bytes] of [
  ['idle connections', ''],
  ['connections with half a request', HALF],
] as const) {
  test(`of ${name} of one address the first ${SHARE} stay open, and other addresses are served`, async (t) => {
    const url = await listening(t);
    const held = await hold(t, url, 2 * SHARE, bytes, '127.0.0.2');
    assert.equal(await open(held, SHARE), SHARE);
    assert.ok(held.slice(0, SHARE).every(({ socket }) => !socket.closed));
    assert.equal(await (await fetch(url)).text(), 'hello');
  });
}

test('timeouts free the places of idle connections and of half requests, which are answered 408', async (t) => {
  const timeouts = { headersMs: 500, requestMs: 500, checkMs: 20 };
  const url = await listening(t, { places: { total: 10, perAddress: 2 }, timeouts });
  const [idle] = await hold(t, url, 1);
  assert.equal(parseAnswer(await exchange(url, HALF))?.status, 408);
  await idle?.closed;
  assert.equal(await (await fetch(url)).text(), 'hello');
});

test('a connection beyond the limit of its address, or of all, is closed; the place of one that ends is free', async (t) => {
  const { handler, arrived, untilArrived } = waiting();
  const url = await listening(t, { places: { total: 3, perAddress: 2 } }, {}, handler);
  const request = requestText('GET', '/', [['Host', 'localhost']]);
  const working = [0, 1].map(() => exchange(url, request));
  await untilArrived(2);
  assert.equal(await exchange(url, request), '');
  const others = await hold(t, url, 2, '', '127.0.0.2');
  assert.equal(await open(others, 1), 1, 'three in all');
  for (const res of arrived.splice(0)) res.end('done');
  for (const text of working) assert.equal(parseAnswer(await text)?.body, 'done');
  const next = exchange(url, request);
  await untilArrived(1);
  arrived[0]?.end('next');
  assert.equal(parseAnswer(await next)?.body, 'next');
});

test('the connections of a trusted proxy do not count against its address', async (t) => {
  const places = { total: 20, perAddress: 2 };
  const url = await listening(t, { places }, { trustedProxies: ['127.0.0.1'] });
  const proxy = await hold(t, url, 10);
  const clients = await hold(t, url, 10, '', '127.0.0.2');
  assert.equal(await open(clients, 2), 2);
  assert.equal(await open(proxy, 10), 10);
});

test('over TLS unfinished handshakes count, and so does each connection of HTTP/1.1 and HTTP/2', async (t) => {
  const url = await listening(t, { places: { total: 100, perAddress: 2 } }, { tls });
  const session = await http2Session(t, url, ca);
  await hold(t, url, 1, '\x16\x03\x01\x01\xff');
  await assert.rejects(getOverTls(url, ca));
  assert.equal((await http2Request(session, { ':path': '/' })).text, 'hello');
  session.destroy();
  await until('the place is free', () =>
    getOverTls(url, ca).then(
      ({ text }) => text === 'hello',
      () => false,
    ),
  );
});

test('streams of HTTP/2 beyond the limit of their address are refused until one ends', async (t) => {
  const url = await listening(t, {}, { tls }, (req, res) => {
    req.resume();
    req.once('end', () => res.end('hello'));
  });
  const sessions = await Promise.all([0, 1].map(() => http2Session(t, url, ca)));
  const opened = sessions.flatMap((session) =>
    Array.from({ length: 60 }, () => {
      const stream = session.request({ ':method': 'POST', ':path': '/' }, { endStream: false });
      stream.on('error', () => undefined);
      return stream;
    }),
  );
  const refused = () => opened.filter(({ rstCode, closed }) => closed && rstCode === constants.NGHTTP2_REFUSED_STREAM);
  await until('20 streams are refused', () => refused().length === 20);
  const waiting = opened.find(({ closed }) => !closed);
  const ended = once(waiting as ClientHttp2Stream, 'close');
  waiting?.close(constants.NGHTTP2_CANCEL);
  await ended;
  const [, other] = sessions as [ClientHttp2Session, ClientHttp2Session];
  assert.equal((await http2Request(other, { ':path': '/' })).text, 'hello');
  for (const session of sessions) session.destroy();
});

test('too many connections are reported, with their address, until the limit holds for a minute', async (t) => {
  const { lines, watch } = recordConditions();
  let now = 0;
  const connections = new Connections({
    limits: { total: 3, perAddress: 2 },
    isProxy: () => false,
    condition: watch('connections'),
    now: () => now,
  });
  const server = createServer();
  connections.guard(server);
  t.after(() => connections.destroy());
  const port = await portOf(t, server);
  const held = await hold(t, `http://127.0.0.1:${port}`, 4, '', '127.0.0.2');
  assert.equal(await open(held, 2), 2);
  now = 60_000;
  connections.check();
  assert.deepEqual(lines, ['more than 2 connections from 127.0.0.2 (limits.maxConnectionsPerAddress)']);
  now = 60_001;
  connections.check();
  assert.equal(lines.at(-1), 'connections is over');
});

test('a refused client without a credential loses its connection; a key keeps its own', async (t) => {
  const server = await startServer(t);
  const headers = (extra: readonly (readonly [string, string])[] = []) => [['Host', 'localhost'], ...extra] as const;
  const kept = async (path: string, extra?: readonly (readonly [string, string])[]) => {
    const text = requestText('GET', path, headers(extra)).replace('Connection: close\r\n', '');
    const { hostname: host, port } = new URL(server.url);
    const socket = connect({ host, port: Number(port) });
    t.after(() => socket.destroy());
    socket.write(text);
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    return parseAnswer(chunk.toString())?.headers.get('connection');
  };
  assert.equal(await kept(PATHS.status), 'close');
  assert.equal(await kept(PATHS.status, [['X-RDCP-API-Key', 'x'.repeat(40)]]), 'close');
  assert.equal(await kept('/rdcp/v1/none'), 'close');
  assert.equal(await kept(PATHS.health), 'keep-alive');
  assert.equal(await kept(PATHS.status, [['X-RDCP-API-Key', KEYS.operator]]), 'keep-alive');
});
