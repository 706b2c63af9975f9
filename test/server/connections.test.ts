import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { constants } from 'node:http2';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { PATHS } from '../../src/protocol/constants.ts';
import type { RequestHandler } from '../../src/server/app.ts';
import { Connections } from '../../src/server/connections/connections.ts';
import type { ListenerOptions } from '../../src/server/connections/listener.ts';
import { atMost } from '../support/at-most.ts';
import { createAuthority, writePems } from '../support/certificate.ts';
import { recordConditions } from '../support/conditions.ts';
import { listen } from '../support/listening.ts';
import { exchange, parseAnswer, requestText } from '../support/raw-http.ts';
import { KEYS, startServer } from '../support/server.ts';
import { getOverTls, http2Request, http2Session } from '../support/tls-client.ts';
import { until } from '../support/until.ts';

const authority = createAuthority();
const { cert, key } = authority.issue('localhost', { usage: 'server' });
const tls = writePems({ certFile: cert, keyFile: key });
const ca = { ca: authority.cert };

/** What the default allows one address. */
const SHARE = 64;
const BODY = '{"action":"status"}';
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

/** How many are open once as many as expected are, or after a second. */
async function open(held: readonly Held[], expected: number): Promise<number> {
  const count = () => held.filter(({ socket }) => !socket.closed).length;
  for (const deadline = Date.now() + 1000; count() > expected && Date.now() < deadline; ) await sleep(10);
  return count();
}

/** A handler whose answers wait until they are released. */
function waiting() {
  const arrived: ServerResponse[] = [];
  const handler: RequestHandler = (_req, res) => void arrived.push(res);
  const untilArrived = async (count: number) => {
    await until(`${count} requests`, () => arrived.length >= count, 5000);
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
  test(`of ${name} of one address at most ${SHARE} stay open, and another is served`, async (t) => {
    const url = await listening(t);
    const held = await hold(t, url, 3 * SHARE, bytes);
    assert.equal(await (await fetch(url)).text(), 'hello');
    assert.equal(await open(held, SHARE - 1), SHARE - 1);
    assert.ok(
      held.slice(-10).every(({ socket }) => !socket.closed),
      'the youngest stay',
    );
  });
}

test('half a request that has to make room is answered 408', async (t) => {
  const url = await listening(t, { places: { total: 10, perAddress: 1 } });
  const sockets: Socket[] = [];
  const accepted = (message: unknown) => void sockets.push((message as { readonly socket: Socket }).socket);
  subscribe('net.server.socket', accepted);
  t.after(() => unsubscribe('net.server.socket', accepted));
  const text = exchange(url, HALF);
  await until('half a request was read', () => sockets[0]?.bytesRead === HALF.length);
  await hold(t, url, 1);
  assert.equal(parseAnswer(await text)?.status, 408);
});

test('an operator with a key is served at once while one address holds hundreds of connections open', async (t) => {
  const server = await startServer(t);
  await hold(t, server.url, 300, HALF);
  const started = performance.now();
  const { status } = await server.request(PATHS.status, { key: 'operator' });
  assert.equal(status, 200);
  assert.ok(performance.now() - started < atMost(5000));
});

for (const [name, pause] of [
  ['in its header', HALF.length],
  ['before its body', -BODY.length],
] as const) {
  test(`a request that pauses ${name} is served while idle connections of its address flood the port`, async (t) => {
    const server = await startServer(t);
    const text = requestText('POST', PATHS.control, [
      ['Host', 'localhost'],
      ['X-RDCP-API-Key', KEYS.operator],
      ['Content-Type', 'application/json'],
      ['Content-Length', String(BODY.length)],
    ]);
    const request = text.replace(/$/, BODY);
    const answer = exchange(server.url, request.slice(0, pause), async (socket) => {
      await hold(t, server.url, 5 * SHARE);
      socket.write(request.slice(pause));
    });
    assert.equal(parseAnswer(await answer)?.status, 200);
  });
}

test('a connection at work is not closed for others, which are refused while there is no room', async (t) => {
  const { handler, arrived, untilArrived } = waiting();
  const url = await listening(t, { places: { total: 10, perAddress: 2 } }, {}, handler);
  const working = [0, 1].map(() => exchange(url, requestText('GET', '/', [['Host', 'localhost']])));
  await untilArrived(2);
  assert.equal(await exchange(url, requestText('GET', '/', [['Host', 'localhost']])), '');
  for (const res of arrived.splice(0)) res.end('done');
  for (const text of working) assert.equal(parseAnswer(await text)?.body, 'done');
  const next = exchange(url, requestText('GET', '/', [['Host', 'localhost']]));
  await untilArrived(1);
  arrived[0]?.end('next');
  assert.equal(parseAnswer(await next)?.body, 'next');
});

test('a request whose body does not come is no work: its connection makes room', async (t) => {
  const { handler, arrived, untilArrived } = waiting();
  const url = await listening(t, { places: { total: 10, perAddress: 1 } }, {}, handler);
  const [dripping] = await hold(t, url, 1, 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{');
  await untilArrived(1);
  const next = fetch(url);
  await untilArrived(2);
  arrived[1]?.end('served');
  assert.equal(await (await next).text(), 'served');
  await dripping?.closed;
});

test('however many connections one address has, an address with one keeps it', async (t) => {
  const url = await listening(t, { places: { total: 4, perAddress: 3 } });
  const few = await hold(t, url, 1, '', '127.0.0.2');
  const many = await hold(t, url, 3, '', '127.0.0.3');
  const others = await hold(t, url, 1, '', '127.0.0.4');
  await many[0]?.closed;
  assert.equal(await open([...few, ...many, ...others], 4), 4);
  assert.equal(few[0]?.socket.closed, false);
});

test('the connections of a trusted proxy do not count against its address', async (t) => {
  const places = { total: 20, perAddress: 2 };
  const url = await listening(t, { places }, { trustedProxies: ['127.0.0.1'] });
  const proxy = await hold(t, url, 10);
  const clients = await hold(t, url, 10, '', '127.0.0.2');
  assert.equal(await open(clients, 2), 2);
  assert.equal(await open(proxy, 10), 10);
});

test('the default serves a sidecar proxy of this host with dozens of requests at once', async (t) => {
  const { handler, arrived, untilArrived } = waiting();
  const url = await listening(t, {}, {}, handler);
  const requests = Array.from({ length: SHARE }, () => exchange(url, requestText('GET', '/', [['Host', 'localhost']])));
  await untilArrived(SHARE);
  for (const res of arrived) res.end('hello');
  for (const text of requests) assert.equal(parseAnswer(await text)?.body, 'hello');
});

test('over TLS unfinished handshakes and idle connections make room for others, over HTTP/1.1 and HTTP/2', async (t) => {
  const url = await listening(t, { places: { total: 100, perAddress: 5 } }, { tls });
  const held = await hold(t, url, 20, '\x16\x03\x01\x01\xff');
  assert.equal((await getOverTls(url, ca)).text, 'hello');
  const session = await http2Session(t, url, ca);
  assert.equal((await http2Request(session, { ':path': '/' })).text, 'hello');
  assert.ok((await open(held, 5)) <= 5);
  const ended = once(session, 'close');
  await hold(t, url, 5);
  await ended;
});

test('streams of HTTP/2 whose body does not come make room for the requests of others of the same address', async (t) => {
  const url = await listening(t, {}, { tls }, (req, res) => {
    req.resume();
    req.once('end', () => res.end('hello'));
  });
  const sessions = await Promise.all([0, 1].map(() => http2Session(t, url, ca)));
  const dripping = sessions.flatMap((session) =>
    Array.from({ length: 100 }, () => {
      const stream = session.request({ ':method': 'POST', ':path': '/' }, { endStream: false });
      const ended = new Promise<number | undefined>((resolve) => stream.once('close', () => resolve(stream.rstCode)));
      stream.on('error', () => undefined);
      return ended;
    }),
  );
  const other = await http2Session(t, url, ca);
  assert.equal((await http2Request(other, { ':path': '/' })).text, 'hello');
  const codes = await Promise.all(dripping.slice(0, 100).map((ended) => Promise.race([ended, sleep(1000)])));
  assert.ok(codes.filter((code) => code === constants.NGHTTP2_CANCEL).length >= 100, 'the oldest streams are reset');
  for (const session of sessions) session.destroy();
});

test('too many connections are reported, with their address, until the limit holds for a minute', async (t) => {
  const { lines, watch } = recordConditions();
  let now = 0;
  const connections = new Connections({
    limits: { total: 3, perAddress: 2 },
    isProxy: () => false,
    tls: false,
    condition: watch('connections'),
    now: () => now,
  });
  const server = createServer();
  connections.guard(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  t.after(() => connections.destroy());
  const { port } = server.address() as AddressInfo;
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

test('a refusal arrives although the body of its request comes late', async (t) => {
  const server = await startServer(t);
  const body = JSON.stringify({ action: 'status' });
  const head = `POST ${PATHS.control} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  const text = await exchange(server.url, head, (socket) => void setTimeout(() => socket.write(body), 20));
  assert.equal(parseAnswer(text)?.status, 401);
});
