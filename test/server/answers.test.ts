import assert from 'node:assert/strict';
import { request as httpsRequest } from 'node:https';
import { test } from 'node:test';
import { PATHS, RDCP_MEDIA_TYPE } from '../../src/wire/constants.ts';
import type { ControlResponse } from '../../src/wire/messages.ts';
import { writeCertificate } from '../support/certificate.ts';
import { exchange, parseAnswer } from '../support/raw-http.ts';
import { KEYS, startServer } from '../support/server.ts';

test('every answer, also a refusal, states the protocol and the request id and is kept by no cache', async (t) => {
  const server = await startServer(t);
  for (const [path, request] of [
    [PATHS.wellKnown, {}],
    [PATHS.status, { key: 'status' }],
    [PATHS.status, {}],
    ['/rdcp/v1/nothing', {}],
  ] as const) {
    const { headers } = await server.request(path, request);
    assert.equal(headers.get('x-rdcp-protocol'), 'rdcp/1.0');
    assert.match(headers.get('x-rdcp-request-id') ?? '', /^[0-9a-f-]{36}$/);
    assert.equal(headers.get('cache-control'), 'no-store');
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    assert.equal(headers.get('vary'), 'Accept');
    assert.equal(headers.get('content-type'), 'application/json; charset=utf-8');
    assert.equal(headers.get('strict-transport-security'), null);
  }
});

test('a request id of the client’s comes back, with a refusal too; a bad one is refused, and another comes back', async (t) => {
  const server = await startServer(t);
  const good = await server.request(PATHS.wellKnown, { headers: { 'X-RDCP-Request-ID': 'op-42.a_b' } });
  assert.equal(good.headers.get('x-rdcp-request-id'), 'op-42.a_b');
  const refused = await server.request('/rdcp/v1/nothing', { headers: { 'X-RDCP-Request-ID': 'op-43' } });
  assert.deepEqual([refused.status, refused.headers.get('x-rdcp-request-id')], [404, 'op-43']);
  const bad = await server.request(PATHS.wellKnown, { headers: { 'X-RDCP-Request-ID': 'a b' } });
  assert.equal(bad.status, 400);
  assert.match(bad.headers.get('x-rdcp-request-id') ?? '', /^[0-9a-f-]{36}$/);
});

test('stating our version is accepted wherever it can be stated', async (t) => {
  const server = await startServer(t);
  const headers = { 'X-RDCP-Protocol': 'rdcp/1.0', Accept: RDCP_MEDIA_TYPE, 'Content-Type': RDCP_MEDIA_TYPE };
  const body = { protocol: 'rdcp/1.0', action: 'enable', categories: 'HTTP' };
  assert.equal((await server.request(PATHS.control, { method: 'POST', key: 'operator', headers, body })).status, 200);
});

test('HTTPS answers demand HTTPS from then on', async (t) => {
  const { cert, ...tls } = writeCertificate();
  const server = await startServer(t, { config: { server: { port: 0, tls } } });
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
  httpsRequest(server.url + PATHS.wellKnown, { ca: cert, agent: false }, (response) => {
    resolve(response.headers['strict-transport-security']);
    response.resume();
  })
    .once('error', reject)
    .end();
  assert.match((await promise) ?? '', /^max-age=31536000/);
});

test('our own origin may ask', async (t) => {
  const server = await startServer(t);
  assert.equal((await server.request(PATHS.wellKnown, { headers: { Origin: server.url } })).status, 200);
});

test('a body that is too large is answered to its end, and the connection stays usable', async (t) => {
  const server = await startServer(t);
  const json = (bytes: number) => `{"action":"enable","categories":"HTTP"${' '.repeat(bytes)}}`;
  const send = (body: string) => server.request(PATHS.control, { method: 'POST', key: 'operator', body });
  for (const bytes of [70_000, 3_000_000]) {
    const { status, body } = await send(json(bytes));
    assert.equal(status, 413);
    assert.equal(body.error.code, 'RDCP_REQUEST_TOO_LARGE');
    assert.equal(body.error.details?.maximum, 65_536);
  }
  assert.equal((await send(json(65_536 - json(0).length))).status, 200);
  assert.equal((await send(json(65_537 - json(0).length))).status, 413);
});

test('a refused body does not become the next request on the connection', async (t) => {
  const server = await startServer(t);
  const inner = `GET ${PATHS.wellKnown} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
  const head = `POST ${PATHS.control} HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nX-RDCP-API-Key: ${KEYS.operator}\r\n`;
  const first = `${head}Content-Length: ${inner.length}\r\n\r\n${inner}`;
  const last = `GET ${PATHS.session} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
  const text = await exchange(server.url, first + last);
  assert.deepEqual(
    [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status),
    ['415', '401'],
  );
  assert.equal(parseAnswer(text)?.status, 401);
});

test('closing answers the change that is in flight, and refuses what comes meanwhile', async (t) => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
  const server = await startServer(t, {
    checkStore: async () => {
      arrive();
      await released;
    },
  });
  const inFlight = server.request(PATHS.health, { key: 'status' });
  await arrived;
  server.startClosing();
  const closed = server.close();
  const late = await server.request<ControlResponse & { error: { code: string } }>(PATHS.control, {
    method: 'POST',
    key: 'operator',
    body: { action: 'enable', categories: 'HTTP' },
  });
  assert.equal(late.status, 503);
  assert.equal(late.body.error.code, 'RDCP_UNAVAILABLE');
  assert.equal(late.headers.get('connection'), 'close');
  release();
  assert.equal((await inFlight).status, 200);
  await closed;
  await assert.rejects(fetch(server.url));
});
