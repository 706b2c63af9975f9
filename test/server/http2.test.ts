// In a process of its own: it counts the warnings of the process.

import assert from 'node:assert/strict';
import { createSecureServer, type OutgoingHttpHeaders } from 'node:http2';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ListenerOptions } from '../../src/endpoint/connections/listener.ts';
import { PATHS } from '../../src/wire/constants.ts';
import { selfSigned, writePems } from '../support/certificate.ts';
import { portOf } from '../support/listening.ts';
import { assembleApp, KEYS, startServer } from '../support/server.ts';
import { inFull } from '../support/tiers.ts';
import { getOverTls, http2Request, http2Session, type TlsAnswer } from '../support/tls-client.ts';

const { cert, key } = selfSigned();
const tls = writePems({ certFile: cert, keyFile: key });
const ca = { ca: cert };
const OPERATOR = { 'x-rdcp-api-key': KEYS.operator };
const POST = { ':method': 'POST', ':path': PATHS.control, ...OPERATOR, 'content-type': 'application/json' };
const WELL_KNOWN = { ':path': PATHS.wellKnown, ':authority': 'localhost' };
const MALFORMED = 'RDCP_MALFORMED_REQUEST';
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

function assertEnvelope({ status, headers, text }: TlsAnswer, expected: number, code: string): void {
  assert.equal(status, expected);
  assert.equal(headers['x-rdcp-protocol'], 'rdcp/1.0');
  assert.match(String(headers['x-rdcp-request-id']), /^[\w.-]+$/);
  assert.equal(JSON.parse(text).error.code, code);
}

test('the same listener serves HTTP/2 and HTTP/1.1, with Strict-Transport-Security for both', async (t) => {
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
    assert.deepEqual([headers.vary, headers['cache-control']], ['Accept', 'no-store']);
  }
});

/** What HTTP/2 has its own form of, or Node does not check for it. */
const REFUSED: readonly (readonly [string, OutgoingHttpHeaders, string | undefined, number, string])[] = [
  ['another host', { ':path': PATHS.wellKnown, ':authority': 'evil.test' }, undefined, 403, 'RDCP_FORBIDDEN'],
  ['a Host that is not the authority', { ...WELL_KNOWN, host: 'other.test' }, undefined, 400, MALFORMED],
  ['a request id twice', { ...WELL_KNOWN, 'x-rdcp-request-id': ['one', 'two'] }, undefined, 400, MALFORMED],
  ['a key twice', { ...WELL_KNOWN, 'x-rdcp-api-key': [KEYS.operator, KEYS.operator] }, undefined, 400, MALFORMED],
  ['a body that is too large', POST, `"${'x'.repeat(70_000)}"`, 413, 'RDCP_REQUEST_TOO_LARGE'],
  ['a tunnel', { ':method': 'CONNECT', ':authority': 'evil.test:443' }, undefined, 405, 'RDCP_METHOD_NOT_ALLOWED'],
];

test('what is refused is refused in the envelope, and the session goes on', async (t) => {
  const { url, send } = await start(t);
  for (const [name, headers, body, status, code] of REFUSED) {
    await t.test(name, async () => assertEnvelope(await send(headers, body), status, code));
  }
  const { host } = new URL(url);
  assert.equal((await send({ ':path': PATHS.wellKnown, ':authority': host, host })).status, 200, 'they agree');
});

test('more than a hundred header fields, or a header beyond 16 KiB, are refused', async (t) => {
  const { send } = await start(t);
  const many = Object.fromEntries(Array.from({ length: 110 }, (_, index) => [`x-${index}`, 'y']));
  assertEnvelope(await send({ ':path': PATHS.wellKnown, ...many }), 400, 'RDCP_MALFORMED_REQUEST');
  await assert.rejects(send({ ':path': PATHS.wellKnown, 'x-large': 'y'.repeat(20_000) }));
  assert.equal((await send({ ':path': PATHS.wellKnown })).status, 200);
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
  // Warnings come in the next turn.
  await sleep(0);
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

inFull('a client that goes away in the middle of requests leaves no error behind', async (t) => {
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
  // Errors of connections that are gone come by themselves, or not at all.
  await sleep(50);
  const session = await http2Session(t, server.url, ca);
  assert.equal((await http2Request(session, { ':path': PATHS.status, ...OPERATOR })).status, 200);
  assert.deepEqual(server.reports, []);
});

test('mounted in an HTTP/2 server of the application it serves our paths and passes on the others', async (t) => {
  const app = await assembleApp(t, { config: { server: false } });
  const server = createSecureServer({ cert, key, allowHTTP1: true }, (req, res) => {
    app.handler(req as never, res as never, () => res.end('own'));
  });
  const session = await http2Session(t, `https://localhost:${await portOf(t, server)}`, ca);
  assert.equal((await http2Request(session, POST, ENABLE)).status, 200);
  assert.equal(app.gate.category('HTTP').enabled, true);
  assert.equal((await http2Request(session, { ':path': '/' })).text, 'own');
  session.destroy();
});
