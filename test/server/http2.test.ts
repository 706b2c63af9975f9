import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2, constants, createSecureServer, type OutgoingHttpHeaders } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { PATHS } from '../../src/protocol/constants.ts';
import type { RequestHandler } from '../../src/server/app.ts';
import type { ListenerOptions } from '../../src/server/listener.ts';
import { createAuthority, writePems } from '../support/certificate.ts';
import { listen, listenerFor } from '../support/listening.ts';
import { assembleApp, KEYS, startServer } from '../support/server.ts';
import { getOverTls, http2Request, http2Session, type TlsAnswer } from '../support/tls-client.ts';

const authority = createAuthority();
const { cert, key } = authority.issue('localhost', { usage: 'server' });
const tls = writePems({ certFile: cert, keyFile: key });
const ca = { ca: authority.cert };
const OPERATOR = { 'x-rdcp-api-key': KEYS.operator };
const POST = { ':method': 'POST', ':path': PATHS.control, ...OPERATOR, 'content-type': 'application/json' };
const ENABLE = JSON.stringify({ action: 'enable', categories: 'HTTP' });

async function start(t: TestContext, listener: ListenerOptions = {}) {
  const server = await startServer(t, { config: { server: { tls } }, listener });
  const session = await http2Session(t, server.url, ca);
  return {
    ...server,
    session,
    send: (headers: OutgoingHttpHeaders, body?: string | Buffer) => http2Request(session, headers, body),
  };
}

function listening(
  t: TestContext,
  handler: RequestHandler,
  timeouts: ListenerOptions['timeouts'] = {},
): Promise<string> {
  return listen(t, { tls }, handler, { timeouts });
}

function assertEnvelope({ status, headers, text }: TlsAnswer, expected: number, code: string): void {
  assert.equal(status, expected);
  assert.equal(headers['x-rdcp-protocol'], 'rdcp/1.0');
  assert.match(String(headers['x-rdcp-request-id']), /^[\w.-]+$/);
  assert.equal(JSON.parse(text).error.code, code);
}

test('the same listener serves HTTP/2 and HTTP/1.1, and tells both to come back by TLS alone', async (t) => {
  const { url, session, send } = await start(t);
  assert.equal(session.alpnProtocol, 'h2');
  const answers = [
    await send({ ':path': PATHS.status, ...OPERATOR }),
    await getOverTls(url + PATHS.status, { ...ca, headers: OPERATOR } as object),
  ];
  for (const { status, headers, text } of answers) {
    assert.equal(status, 200);
    assert.match(text, /^\{"protocol":"rdcp\/1\.0"/);
    assert.equal(headers['strict-transport-security'], 'max-age=31536000');
    assert.equal(headers['x-rdcp-protocol'], 'rdcp/1.0');
  }
});

test('a control over HTTP/2 takes effect, with and without a declared length', async (t) => {
  const { send, gate } = await start(t);
  for (const [action, headers] of [
    ['enable', {}],
    ['disable', { 'content-length': JSON.stringify({ action: 'disable', categories: 'HTTP' }).length }],
  ] as const) {
    const body = JSON.stringify({ action, categories: 'HTTP' });
    const { status, text } = await send({ ...POST, ...headers }, body);
    assert.equal(status, 200, text);
    assert.equal(gate.category('HTTP').enabled, action === 'enable');
  }
});

const REFUSED: readonly (readonly [string, OutgoingHttpHeaders, string | undefined, number, string])[] = [
  ['no credential', { ':path': PATHS.status }, undefined, 401, 'RDCP_AUTH_REQUIRED'],
  ['an unknown path', { ':path': '/rdcp/v1/nothing' }, undefined, 404, 'RDCP_NOT_FOUND'],
  ['another version', { ':path': '/rdcp/v2/status' }, undefined, 400, 'RDCP_VERSION_UNSUPPORTED'],
  ['another method', { ':path': PATHS.status, ':method': 'DELETE' }, undefined, 405, 'RDCP_METHOD_NOT_ALLOWED'],
  ['another host', { ':path': PATHS.wellKnown, ':authority': 'evil.test' }, undefined, 403, 'RDCP_FORBIDDEN'],
  [
    'a Host that is not the authority',
    { ':path': PATHS.wellKnown, ':authority': 'localhost', host: 'other.test' },
    undefined,
    400,
    'RDCP_MALFORMED_REQUEST',
  ],
  ['another origin', { ':path': PATHS.wellKnown, origin: 'https://evil.test' }, undefined, 403, 'RDCP_FORBIDDEN'],
  [
    'a request id twice',
    { ':path': PATHS.wellKnown, 'x-rdcp-request-id': ['one', 'two'] },
    undefined,
    400,
    'RDCP_MALFORMED_REQUEST',
  ],
  [
    'a key twice',
    { ':path': PATHS.status, 'x-rdcp-api-key': [KEYS.operator, KEYS.operator] },
    undefined,
    400,
    'RDCP_MALFORMED_REQUEST',
  ],
  ['a body of nothing', POST, '', 400, 'RDCP_MALFORMED_REQUEST'],
  ['a body that is no JSON', POST, '{"action":', 400, 'RDCP_MALFORMED_REQUEST'],
  ['a body of another type', { ...POST, 'content-type': 'text/plain' }, ENABLE, 415, 'RDCP_MEDIA_UNSUPPORTED'],
  ['an encoded body', { ...POST, 'content-encoding': 'gzip' }, ENABLE, 415, 'RDCP_MEDIA_UNSUPPORTED'],
  ['a body that is too large', POST, `"${'x'.repeat(70_000)}"`, 413, 'RDCP_REQUEST_TOO_LARGE'],
  ['a tunnel', { ':method': 'CONNECT', ':authority': 'evil.test:443' }, undefined, 405, 'RDCP_METHOD_NOT_ALLOWED'],
];

test('what is refused is refused in the envelope, and the session goes on', async (t) => {
  const { send } = await start(t);
  for (const [name, headers, body, status, code] of REFUSED) {
    await t.test(name, async () => assertEnvelope(await send(headers, body), status, code));
  }
  assert.equal((await send({ ':path': PATHS.status, ...OPERATOR })).status, 200);
});

test('a Host that agrees with the authority is fine', async (t) => {
  const { url, send } = await start(t);
  const { host } = new URL(url);
  assert.equal((await send({ ':path': PATHS.wellKnown, ':authority': host, host })).status, 200);
});

test('more than a hundred header fields, or a header beyond 16 KiB, are refused', async (t) => {
  const { send } = await start(t);
  const many = Object.fromEntries(Array.from({ length: 110 }, (_, index) => [`x-${index}`, 'y']));
  assertEnvelope(await send({ ':path': PATHS.wellKnown, ...many }), 400, 'RDCP_MALFORMED_REQUEST');
  await assert.rejects(send({ ':path': PATHS.wellKnown, 'x-large': 'y'.repeat(20_000) }));
  assert.equal((await send({ ':path': PATHS.wellKnown })).status, 200);
});

test('HEAD answers as GET without the body', async (t) => {
  const { send } = await start(t);
  const { status, headers, text } = await send({ ':method': 'HEAD', ':path': PATHS.wellKnown });
  assert.deepEqual([status, text], [200, '']);
  const whole = await send({ ':path': PATHS.wellKnown });
  assert.equal(headers['content-length'], String(Buffer.byteLength(whole.text)));
});

test('a hundred requests at once on one connection are all answered', async (t) => {
  const { send } = await start(t);
  const answers = await Promise.all(
    Array.from({ length: 300 }, (_, index) =>
      send(index % 2 === 0 ? { ':path': PATHS.status, ...OPERATOR } : POST, index % 2 === 0 ? undefined : ENABLE),
    ),
  );
  assert.ok(answers.every(({ status }) => status === 200));
});

test('nothing of HTTP/1.1 is written on HTTP/2, and Node has nothing to warn of', async (t) => {
  const warnings: Error[] = [];
  const note = (warning: Error) => warnings.push(warning);
  process.on('warning', note);
  t.after(() => process.off('warning', note));
  const { send, startClosing } = await start(t);
  const endless = Buffer.alloc(9 * 1024 * 1024, 'x');
  await send(POST, endless).then(
    ({ headers }) => assert.equal(headers.connection, undefined),
    () => undefined,
  );
  startClosing();
  const { status, headers } = await send({ ':path': PATHS.wellKnown });
  assert.equal(status, 503);
  assert.equal(headers.connection, undefined);
  await sleep(10);
  assert.deepEqual(warnings, []);
});

test('a body that is not as long as declared changes nothing, and harms no other connection', async (t) => {
  const { url, send, gate } = await start(t);
  for (const declared of [5, 500]) {
    const session = await http2Session(t, url, ca);
    await assert.rejects(http2Request(session, { ...POST, 'content-length': declared }, ENABLE));
  }
  assert.equal(gate.category('HTTP').enabled, false);
  assert.equal((await send({ ':path': PATHS.status, ...OPERATOR })).status, 200);
});

test('a client that goes away in the middle of requests leaves no error behind', async (t) => {
  const server = await startServer(t, { config: { server: { tls } } });
  for (let round = 0; round < 20; round++) {
    const session = await http2Session(t, server.url, ca);
    for (let request = 0; request < 20; request++) {
      const stream = session.request(round % 2 === 0 ? { ':path': PATHS.status } : POST, {
        endStream: round % 2 === 0,
      });
      stream.on('error', () => undefined);
    }
    if (round % 3 === 1) await sleep(round);
    if (round % 3 === 2) await sleep(0);
    session.destroy();
  }
  await sleep(50);
  const session = await http2Session(t, server.url, ca);
  assert.equal((await http2Request(session, { ':path': PATHS.status, ...OPERATOR })).status, 200);
  assert.deepEqual(server.reports, []);
});

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
  const url = await listening(t, (_req, res) => void res.end('hello'), { keepAliveMs: 500, checkMs: 20 });
  const busy = await http2Session(t, url, ca);
  let waiting = true;
  const work = async () => {
    for (; waiting; await sleep(20)) assert.equal((await http2Request(busy, { ':path': '/' })).text, 'hello');
  };
  const working = work();
  const never = await http2Session(t, url, ca);
  const once_ = await http2Session(t, url, ca);
  const ended = [never, once_].map((session) => new Promise((resolve) => session.once('close', resolve)));
  assert.equal((await http2Request(once_, { ':path': '/' })).text, 'hello');
  await Promise.all(ended);
  waiting = false;
  await working;
});

test('a client that does not take its leave loses its idle connection all the same', async (t) => {
  const url = await listening(t, (_req, res) => void res.end('hello'), { keepAliveMs: 50, checkMs: 20 });
  const { socket, closed } = await rawHttp2(t, url);
  socket.write(PREFACE);
  socket.pause();
  await sleep(300);
  socket.resume();
  await closed;
});

test('a body that drips is answered 408, and the other requests of its connection go on', async (t) => {
  const url = await listening(
    t,
    (req, res) => {
      req.resume();
      req.once('end', () => res.end('hello'));
    },
    { headersMs: 100, requestMs: 100, checkMs: 20 },
  );
  const session = await http2Session(t, url, ca);
  const dripping = session.request({ ':method': 'POST', ':path': '/' }, { endStream: false });
  dripping.on('error', () => undefined);
  const drip = setInterval(() => dripping.write('x'), 10);
  t.after(() => clearInterval(drip));
  const [headers] = (await once(dripping, 'response')) as [Record<string, unknown>];
  assert.equal(headers[':status'], 408);
  clearInterval(drip);
  await once(dripping.resume(), 'close');
  assert.equal((await http2Request(session, { ':path': '/' })).text, 'hello');
});

test('an answer that nobody reads is given up, over HTTP/2 and HTTP/1.1', async (t) => {
  const ends: string[] = [];
  const url = await listening(
    t,
    (req, res) => {
      res.once('close', () => ends.push(req.httpVersion));
      res.end(Buffer.alloc(32 * 1024 * 1024));
    },
    { requestMs: 200, headersMs: 200, checkMs: 20 },
  );
  const session = await http2Session(t, url, ca);
  const unread = session.request({ ':path': '/' });
  unread.on('error', () => undefined);
  const socket = connectTls({ port: Number(new URL(url).port), host: '127.0.0.1', servername: 'localhost', ...ca });
  socket.on('error', () => undefined);
  socket.pause();
  await once(socket, 'secureConnect');
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  for (const deadline = Date.now() + 5000; ends.length < 2; await sleep(10)) assert.ok(Date.now() < deadline);
  assert.deepEqual(ends.sort(), ['1.1', '2.0']);
  socket.destroy();
});

test('closing answers what is in flight and what still comes, then tells clients to go', async () => {
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

test('mounted in an HTTP/2 server of the application it serves our paths and passes on the others', async (t) => {
  const app = await assembleApp(t, { config: { server: false } });
  const server = createSecureServer({ cert, key, allowHTTP1: true }, (req, res) => {
    app.handler(req as never, res as never, () => res.end('own'));
  });
  await new Promise<void>((resolve) => server.listen(0, resolve));
  t.after(() => server.close());
  const session = await http2Session(t, `https://localhost:${(server.address() as AddressInfo).port}`, ca);
  assert.equal((await http2Request(session, POST, ENABLE)).status, 200);
  assert.equal(app.gate.category('HTTP').enabled, true);
  assert.equal((await http2Request(session, { ':path': '/' })).text, 'own');
  session.destroy();
});
