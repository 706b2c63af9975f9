import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2, constants, createSecureServer, type Http2ServerResponse } from 'node:http2';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import type { RequestHandler } from '../../src/endpoint/app.ts';
import { Http2Sessions } from '../../src/endpoint/connections/connections.ts';
import type { ListenerOptions } from '../../src/endpoint/connections/listener.ts';
import { selfSigned, writePems } from '../support/certificate.ts';
import { listen, listenerFor, portOf } from '../support/listening.ts';
import { getOverTls, http2Request, http2Session } from '../support/tls-client.ts';
import { until } from '../support/until.ts';

const { cert, key } = selfSigned();
const tls = writePems({ certFile: cert, keyFile: key });
const ca = { ca: cert };

function listening(
  t: TestContext,
  handler: RequestHandler,
  timeouts: ListenerOptions['timeouts'] = {},
): Promise<string> {
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
    const url = await listening(t, (_req, res) => {
      handled++;
      res.end('hello');
    });
    const { socket, closed } = await rawHttp2(t, url);
    socket.pause();
    socket.write(PREFACE);
    for (let round = 0; round < 1000 && !socket.destroyed && socket.writable; round++) {
      socket.write(flood(round));
      await sleep(1);
    }
    socket.resume();
    await closed;
    assert.ok(handled < 1000, `${handled} requests were handled`);
    assert.equal((await getOverTls(url, ca)).text, 'hello');
  });
}

test('what is no HTTP/2 after it was agreed on ends the connection', async (t) => {
  const url = await listening(t, (_req, res) => void res.end('hello'));
  const { socket, closed } = await rawHttp2(t, url);
  socket.resume();
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await closed;
});

test('a client that offers neither protocol is refused', async (t) => {
  const url = await listening(t, (_req, res) => void res.end('hello'));
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
  const url = await listening(t, (_req, res) => void res.end('hello'), { keepAliveMs: 50, checkMs: 20 });
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
  const url = await listening(
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
