import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { PATHS } from '../../src/wire/constants.ts';
import type { ControlResponse } from '../../src/wire/messages.ts';
import fc from '../support/fast-check.ts';
import { KeptConnection } from '../support/kept-connection.ts';
import { exchange, parseAnswer } from '../support/raw-http.ts';
import { KEYS, startServer } from '../support/server.ts';
import { inBoth, runs } from '../support/tiers.ts';

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
    wrap: () => ({
      checkStore: async () => {
        arrive();
        await released;
      },
    }),
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
  const { status, headers } = await inFlight;
  assert.deepEqual([status, headers.get('connection')], [200, 'close']);
  await closed;
  await assert.rejects(fetch(server.url));
});

const JSON_TYPE = 'application/json';
const RDCP_TYPE = 'application/vnd.rdcp.v1+json';

const CASES: readonly (readonly [accept: string | undefined, mediaType: string])[] = [
  [undefined, JSON_TYPE],
  ['', JSON_TYPE],
  ['*/*', JSON_TYPE],
  ['application/*', JSON_TYPE],
  [JSON_TYPE, JSON_TYPE],
  ['application/json; charset=utf-8', JSON_TYPE],
  ['application/json;charset="UTF-8"', JSON_TYPE],
  [`${RDCP_TYPE}; charset=utf-8, ${JSON_TYPE};q=0.9`, RDCP_TYPE],
  ['APPLICATION/JSON', JSON_TYPE],
  [RDCP_TYPE, RDCP_TYPE],
  [`${RDCP_TYPE}, */*`, RDCP_TYPE],
  [`${RDCP_TYPE}, ${JSON_TYPE}`, RDCP_TYPE],
  [`${JSON_TYPE}, ${RDCP_TYPE}`, JSON_TYPE],
  [`${RDCP_TYPE};q=0.5, ${JSON_TYPE}`, JSON_TYPE],
  [`${RDCP_TYPE};q=0.5, ${JSON_TYPE};q=0.4`, RDCP_TYPE],
  [`${JSON_TYPE};q=0, */*`, RDCP_TYPE],
  ['text/html, application/xhtml+xml, */*;q=0.8', JSON_TYPE],
  [`application/vnd.rdcp.v2+json, ${JSON_TYPE};q=0.1`, JSON_TYPE],
  [',,*/*,', JSON_TYPE],
];

interface Negotiated {
  readonly status: number;
  /** Without its charset. */
  readonly mediaType: string | undefined;
  /** Of a refusal. */
  readonly code: string | undefined;
}

async function negotiating(t: TestContext): Promise<(accept: string | undefined) => Promise<Negotiated>> {
  const connection = new KeptConnection((await startServer(t)).url);
  t.after(() => connection.close());
  return async (accept) => {
    const field = accept === undefined ? '' : `Accept: ${accept}\r\n`;
    const request = `GET ${PATHS.session} HTTP/1.1\r\nHost: localhost\r\nX-RDCP-API-Key: ${KEYS.status}\r\n${field}\r\n`;
    const { status, headers, body } = await connection.exchange(request);
    return { status, mediaType: headers.get('content-type')?.split(';')[0], code: JSON.parse(body).error?.code };
  };
}

test('Accept decides the media type of an answer, or leaves nothing to answer with', async (t) => {
  const negotiate = await negotiating(t);
  for (const [accept, mediaType] of CASES) {
    assert.deepEqual(await negotiate(accept), { status: 200, mediaType, code: undefined }, accept);
  }
  for (const accept of ['text/html', 'application/json;q=0', '*/*;q=0', 'application/json;q=x', 'nonsense', 'text/*']) {
    const refusal = { status: 406, mediaType: JSON_TYPE, code: 'RDCP_MEDIA_NOT_ACCEPTABLE' };
    assert.deepEqual(await negotiate(accept), refusal, accept);
  }
});

test('another version of the protocol alone is refused as a version', async (t) => {
  const negotiate = await negotiating(t);
  for (const accept of ['application/vnd.rdcp.v2+json', 'text/html, application/vnd.rdcp.v17+json;q=0.3']) {
    assert.deepEqual(await negotiate(accept), { status: 400, mediaType: JSON_TYPE, code: 'RDCP_VERSION_UNSUPPORTED' });
  }
  assert.equal((await negotiate('application/vnd.rdcp.v2+json;q=0')).code, 'RDCP_MEDIA_NOT_ACCEPTABLE');
});

inBoth('a type is never answered with when its most exact range has quality 0', async (t) => {
  const negotiate = await negotiating(t);
  const type = fc.constantFrom(JSON_TYPE, RDCP_TYPE, 'application/*', '*/*', 'text/html');
  const range = fc.tuple(type, fc.constantFrom('', ';q=0', ';q=0.5', ';q=1', ';q=0.25'));
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(range, { selector: ([name]) => name, maxLength: 5 }), async (ranges) => {
      const { status, mediaType } = await negotiate(ranges.map(([name, quality]) => name + quality).join(', '));
      if (status !== 200 || ranges.length === 0) return;
      const exact = ['*/*', 'application/*', mediaType].findLast((name) => ranges.some(([range]) => range === name));
      assert.notEqual(exact, undefined);
      assert.notEqual(ranges.find(([name]) => name === exact)?.[1], ';q=0');
    }),
    { numRuns: runs(500) },
  );
});

const REFUSALS: readonly (readonly [
  name: string,
  status: number,
  path: string,
  headers: Readonly<Record<string, string>>,
])[] = [
  ['an unknown path', 404, '/rdcp/v1/nothing', {}],
  ['another version in the path', 400, '/rdcp/v2/status', {}],
  ['another version in a header', 400, PATHS.status, { 'X-RDCP-Protocol': 'rdcp/2.0' }],
  ['a malformed identifier', 400, PATHS.status, { 'X-RDCP-Request-ID': '?' }],
  ['another origin', 403, PATHS.status, { Origin: 'https://evil.example' }],
  ['no credential', 401, PATHS.status, {}],
  ['an event stream', 401, PATHS.events, {}],
];

test('a refusal has the media type that the client accepts', async (t) => {
  const server = await startServer(t);
  for (const [name, status, path, headers] of REFUSALS) {
    for (const [accept, mediaType] of [
      [RDCP_TYPE, RDCP_TYPE],
      [`${RDCP_TYPE}, ${JSON_TYPE};q=0.5`, RDCP_TYPE],
      [JSON_TYPE, JSON_TYPE],
    ] as const) {
      const Accept = path === PATHS.events ? `text/event-stream, ${accept}` : accept;
      const answer = await server.request(path, { headers: { ...headers, Accept } });
      assert.equal(answer.headers.get('content-type'), `${mediaType}; charset=utf-8`, `${name}, ${accept}`);
      assert.equal(answer.status, status, name);
    }
  }
});

const ON_THE_CONNECTION: readonly (readonly [what: string, status: number, request: string, mediaType: string])[] = [
  ['a body that does not arrive', 408, 'Content-Length: 9\r\n\r\n{', RDCP_TYPE],
  ['a body that is not chunked as it says', 400, 'Transfer-Encoding: chunked\r\n\r\nnone\r\n', RDCP_TYPE],
  // What a client would prefer is not known before its header was read.
  ['a header that does not end', 408, 'X-Rest: ', JSON_TYPE],
  ['a header that is too large', 431, `X-Large: ${'x'.repeat(20_000)}\r\n\r\n`, JSON_TYPE],
  ['a header that is no HTTP', 400, 'not a field\r\n\r\n', JSON_TYPE],
];

test('a body that does not arrive within limits.requestTimeoutSeconds is answered once, by 408, and the connection ends', async (t) => {
  const listener = { timeouts: { headersMs: 500, requestMs: 3000, checkMs: 50 } };
  const { url } = await startServer(t, { config: { limits: { requestTimeoutSeconds: 1 } }, listener });
  const head = `POST ${PATHS.control} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${JSON_TYPE}\r\nX-RDCP-API-Key: ${KEYS.control}\r\n`;
  for (const length of [9, 100_000]) {
    const text = await exchange(url, `${head}Content-Length: ${length}\r\n\r\n{`);
    assert.deepEqual(text.match(/HTTP\/1\.1 .*/g), ['HTTP/1.1 408 Request Timeout'], `${length}`);
    assert.equal(parseAnswer(text)?.headers.get('connection'), 'close');
  }
});

for (const [what, status, rest, mediaType] of ON_THE_CONNECTION) {
  test(`the refusal of ${what} is ${mediaType} to a client that prefers the type of RDCP`, async (t) => {
    const timeouts = status === 408 ? { headersMs: 200, requestMs: 300, checkMs: 50 } : {};
    const { url } = await startServer(t, { listener: { timeouts } });
    const head = `POST ${PATHS.control} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${JSON_TYPE}\r\n`;
    const credential = `X-RDCP-API-Key: ${KEYS.control}\r\n`;
    const answer = parseAnswer(await exchange(url, `${head}${credential}Accept: ${RDCP_TYPE}\r\n${rest}`));
    assert.deepEqual([answer?.status, answer?.headers.get('content-type')], [status, `${mediaType}; charset=utf-8`]);
  });
}
