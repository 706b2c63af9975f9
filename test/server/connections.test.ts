import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect as connectHttp2,
  constants,
  createSecureServer,
  type Http2ServerResponse,
} from 'node:http2';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import type { RequestHandler } from '../../src/endpoint/app.ts';
import { Connections, Http2Sessions } from '../../src/endpoint/connections/connections.ts';
import type { ListenerOptions } from '../../src/endpoint/connections/listener.ts';
import { PATHS } from '../../src/wire/constants.ts';
import { selfSigned, writePems } from '../support/certificate.ts';
import { recordConditions } from '../support/conditions.ts';
import { listen, listenerFor, portOf } from '../support/listening.ts';
import { exchange, parseAnswer, requestText } from '../support/raw-http.ts';
import { KEYS, startServer } from '../support/server.ts';
import { getOverTls, http2Request, http2Session } from '../support/tls-client.ts';
import { until } from '../support/until.ts';

const { cert, key } = selfSigned();
const tls = writePems({ certFile: cert, keyFile: key });
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

function served(t: TestContext, handler: RequestHandler, timeouts: ListenerOptions['timeouts'] = {}): Promise<string> {
  return listen(t, { tls }, handler, { timeouts });
}

/** RFC 9113, section 4.1. */
function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const header = Buffer.alloc(9);
  header.writeUIntBE(payload.length, 0, 3);
  header.writeUInt8(type, 3);
  header.writeUInt8(flags, 4);
  header.writeUInt32BE(stream, 5);
  return Buffer.concat([header, payload]);
}

const PREFACE = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(4, 0, 0)]);
/** GET / of https://localhost, by the static table of HPACK. */
const GET = Buffer.concat([Buffer.from([0x82, 0x84, 0x87, 0x41, 9]), Buffer.from('localhost')]);

/** A connection on which HTTP/2 is agreed, and nothing said yet. */
async function rawHttp2(t: TestContext, url: string, ALPNProtocols = ['h2']) {
  const socket = connectTls({
    port: Number(new URL(url).port),
    host: '127.0.0.1',
    servername: 'localhost',
    ALPNProtocols,
    ...ca,
  });
  t.after(() => socket.destroy());
  await once(socket, 'secureConnect');
  socket.on('error', () => undefined);
  return { socket, closed: new Promise<void>((resolve) => socket.once('close', () => resolve())) };
}

const FLOODS: Readonly<Record<string, (round: number) => Buffer>> = {
  'streams that are reset at once': (round) =>
    Buffer.concat(
      Array.from({ length: 100 }, (_, index) => {
        const stream = 2 * (100 * round + index) + 1;
        return Buffer.concat([frame(1, 0x5, stream, GET), frame(3, 0, stream, Buffer.from([0, 0, 0, 8]))]);
      }),
    ),
  'settings whose acknowledgements are not read': () =>
    Buffer.concat(Array.from({ length: 1000 }, () => frame(4, 0, 0))),
  'pings whose answers are not read': () =>
    Buffer.concat(Array.from({ length: 1000 }, () => frame(6, 0, 0, Buffer.alloc(8)))),
  'streams that are no requests': (round) =>
    Buffer.concat(
      Array.from({ length: 100 }, (_, index) => frame(1, 0x5, 2 * (100 * round + index) + 1, Buffer.from([0x82]))),
    ),
  'a header without an end': (round) => frame(round === 0 ? 1 : 9, 0, 1, Buffer.alloc(1000, 0x82)),
};

for (const [name, flood] of Object.entries(FLOODS)) {
  test(`a flood of ${name} ends its connection, and others are served`, async (t) => {
    let handled = 0;
    const url = await served(t, (_req, res) => {
      handled++;
      res.end('hello');
    });
    const { socket, closed } = await rawHttp2(t, url);
    socket.pause();
    socket.write(PREFACE);
    for (let round = 0; round < 1000 && !socket.destroyed && socket.writable; round++) {
      socket.write(flood(round));
      await turn();
    }
    socket.resume();
    await closed;
    assert.ok(handled < 1000, `${handled} requests were handled`);
    assert.equal((await getOverTls(url, ca)).text, 'hello');
  });
}

test('what is no HTTP/2 after it was agreed on ends the connection', async (t) => {
  const url = await served(t, (_req, res) => void res.end('hello'));
  const { socket, closed } = await rawHttp2(t, url);
  socket.resume();
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await closed;
});

test('a client that offers neither protocol is refused', async (t) => {
  const url = await served(t, (_req, res) => void res.end('hello'));
  await assert.rejects(rawHttp2(t, url, ['spdy/3']));
});

test('a connection that is idle ends, before its first request and after its last; one in use goes on', async (t) => {
  let now = 0;
  const sessions = new Http2Sessions(500, () => now);
  const arrived = Promise.withResolvers<Http2ServerResponse>();
  const server = createSecureServer({ cert, key }, (req, res) => {
    if (req.url === '/wait') arrived.resolve(res);
    else res.end('hello');
  });
  sessions.follow(server);
  const url = `https://127.0.0.1:${await portOf(t, server)}`;
  const [busy, never, used] = [
    await http2Session(t, url, ca),
    await http2Session(t, url, ca),
    await http2Session(t, url, ca),
  ];
  const waiting = http2Request(busy, { ':path': '/wait' });
  const response = await arrived.promise;
  assert.equal((await http2Request(used, { ':path': '/' })).text, 'hello');
  // The server may see the end of a stream later than its client.
  const ended = (...clients: readonly (typeof busy)[]) =>
    until('the idle connections have ended', () => {
      now += 501;
      sessions.endIdle(now);
      return clients.every(({ closed }) => closed);
    });
  await ended(never, used);
  response.end('late');
  assert.equal((await waiting).text, 'late');
  assert.equal((await http2Request(busy, { ':path': '/' })).text, 'hello');
  await ended(busy);
});

test('a client that does not take its leave loses its idle connection all the same', async (t) => {
  const url = await served(t, (_req, res) => void res.end('hello'), { keepAliveMs: 50, checkMs: 20 });
  const { socket, closed } = await rawHttp2(t, url);
  socket.write(PREFACE);
  socket.pause();
  // Longer than an idle connection lasts: the client reads nothing meanwhile.
  await sleep(300);
  socket.resume();
  await closed;
});

test('an answer that is not read is given up, over HTTP/2 and HTTP/1.1', async (t) => {
  const ends: string[] = [];
  const url = await served(
    t,
    (req, res) => {
      res.once('close', () => ends.push(req.httpVersion));
      res.end(Buffer.alloc(32 * 1024 * 1024));
    },
    { requestMs: 1500, headersMs: 1500, checkMs: 20 },
  );
  const session = await http2Session(t, url, ca);
  const unread = session.request({ ':path': '/' });
  unread.on('error', () => undefined);
  const socket = connectTls({ port: Number(new URL(url).port), host: '127.0.0.1', servername: 'localhost', ...ca });
  socket.on('error', () => undefined);
  socket.pause();
  await once(socket, 'secureConnect');
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await until('both answers are given up', () => ends.length >= 2);
  assert.deepEqual(ends.sort(), ['1.1', '2.0']);
  socket.destroy();
});

test('closing answers requests in flight and new ones, then sends GOAWAY', async () => {
  const { promise: release, resolve } = Promise.withResolvers<void>();
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
  const listener = listenerFor({ tls }, async (req, res) => {
    if (req.url === '/slow') {
      arrive();
      await release;
    }
    res.end(req.url);
  });
  const { url } = await listener.listen();
  const session = connectHttp2(url, ca);
  await once(session, 'connect');
  const closed = once(session, 'close');
  const goaway = once(session, 'goaway');
  const slow = http2Request(session, { ':path': '/slow' });
  await arrived;
  const closing = listener.close();
  assert.equal((await http2Request(session, { ':path': '/still' })).text, '/still');
  resolve();
  assert.equal((await slow).text, '/slow');
  assert.equal((await goaway)[0], constants.NGHTTP2_NO_ERROR);
  await closing;
  await closed;
  await assert.rejects(getOverTls(url, ca));
});

test('closing does not wait for ever for a stream that does not end', async () => {
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
  const listener = listenerFor({ tls }, () => arrive(), { timeouts: { closeMs: 50 } });
  const { url } = await listener.listen();
  const session = connectHttp2(url, ca);
  session.on('error', () => undefined);
  const hanging = assert.rejects(http2Request(session, { ':path': '/' }));
  await arrived;
  await listener.close();
  await hanging;
});
