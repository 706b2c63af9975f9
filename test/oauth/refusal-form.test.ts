import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import { PROTOCOL, TOKEN_PATHS } from '../../src/wire/constants.ts';
import type { OAuthErrorResponse } from '../../src/wire/oauth-messages.ts';
import { askToken, basic, exchangeKey, post } from '../server/tokens.ts';
import { selfSigned, writePems } from '../support/certificate.ts';
import { exchange, parseAnswer, type RawAnswer, requestText } from '../support/raw-http.ts';
import { KEYS } from '../support/server.ts';
import { http2Request, http2Session } from '../support/tls-client.ts';
import { startAuthorizationServer } from './authorization-server.ts';

// Whatever goes wrong at an endpoint of OAuth, also before it is reached, is told as OAuth has it.

const POSTS = [TOKEN_PATHS.token, TOKEN_PATHS.revoke];
const GETS = [TOKEN_PATHS.metadata];
const FORM = 'application/x-www-form-urlencoded';
const BODY = 'grant_type=client_credentials&token=x';

type Header = readonly [string, string];

interface Wrong {
  readonly what: string;
  readonly headers?: readonly Header[];
  readonly host?: readonly string[];
  readonly body?: string;
  readonly type?: string;
  readonly status: number;
}

const WRONG: readonly Wrong[] = [
  { what: 'an answer that cannot be had', headers: [['Accept', 'text/html']], status: 406 },
  { what: 'a signed answer', headers: [['Accept', 'application/jwt']], status: 406 },
  { what: 'another version, by Accept', headers: [['Accept', 'application/vnd.rdcp.v2+json']], status: 400 },
  { what: 'another version', headers: [['X-RDCP-Protocol', 'rdcp/2.0']], status: 400 },
  { what: 'a foreign host', host: ['evil.example'], status: 403 },
  { what: 'no host', host: [], status: 400 },
  { what: 'two hosts', host: ['localhost', 'localhost'], status: 400 },
  { what: 'a host that is none', host: ['"quoted\\"'], status: 400 },
  { what: 'a foreign page', headers: [['Origin', 'https://evil.example']], status: 403 },
  { what: 'a malformed request id', headers: [['X-RDCP-Request-ID', '"']], status: 400 },
  {
    what: 'two request ids',
    headers: [
      ['X-RDCP-Request-ID', 'a'],
      ['X-RDCP-Request-ID', 'b'],
    ],
    status: 400,
  },
  {
    what: 'too many header fields',
    headers: Array.from({ length: 101 }, (_, index) => [`X-Field-${index}`, 'x'] as const),
    status: 400,
  },
];

const WRONG_POSTS: readonly Wrong[] = [
  { what: 'JSON', type: 'application/json', body: '{"grant_type":"client_credentials"}', status: 415 },
  { what: 'a text', type: 'text/plain', status: 415 },
  { what: 'a form in parts', type: 'multipart/form-data; boundary=x', status: 415 },
  { what: 'a form that is not UTF-8', body: 'a=\xff', status: 400 },
  { what: 'a form in another encoding', type: `${FORM}; charset=utf-16`, status: 415 },
  { what: 'a compressed form', headers: [['Content-Encoding', 'gzip']], status: 415 },
  { what: 'a form that is too large', body: `grant_type=${'x'.repeat(70_000)}`, status: 413 },
  { what: 'an empty form', body: '', status: 400 },
  { what: 'two types', headers: [['Content-Type', FORM]], status: 400 },
  {
    what: 'two credentials',
    headers: Object.entries(basic('operator-client', KEYS.operator)).flatMap((header) => [header, header]),
    status: 400,
  },
  { what: 'a field twice', body: `${BODY}&${BODY}`, status: 400 },
  { what: 'a field twice, whose name may not be shown', body: `${BODY}&"\\%0a%C3%A9=1&"\\%0a%C3%A9=2`, status: 400 },
];

/** The form, the status, and the headers that all answers have. */
function assertRefused(answer: RawAnswer | undefined, status: number, error: string, what: string): void {
  assert.ok(answer, what);
  assert.equal(answer.status, status, `${what}: ${answer.body}`);
  const body: OAuthErrorResponse = JSON.parse(answer.body);
  assert.deepEqual(Object.keys(body), ['error', 'error_description'], what);
  assert.equal(body.error, error, what);
  assert.match(body.error_description ?? '', /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/, what);
  assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8', what);
  assert.equal(answer.headers.get('cache-control'), 'no-store', what);
  assert.equal(answer.headers.get('pragma'), 'no-cache', what);
  assert.equal(answer.headers.get('x-rdcp-protocol'), PROTOCOL, what);
  assert.ok(answer.headers.get('x-rdcp-request-id'), what);
  assert.equal(answer.headers.has('www-authenticate'), status === 401, what);
}

test('what goes wrong before an endpoint of OAuth is reached is refused in its form', async (t) => {
  const server = await startAuthorizationServer(t);
  const cases = [
    ...POSTS.flatMap((path) => [...WRONG, ...WRONG_POSTS].map((wrong) => ({ path, method: 'POST', ...wrong }))),
    ...GETS.flatMap((path) => WRONG.map((wrong) => ({ path, method: 'GET', ...wrong }))),
  ];
  for (const { path, method, what, host = ['localhost'], headers = [], type = FORM, body = BODY, status } of cases) {
    const sent = [...host.map((name) => ['Host', name] as const), ...headers];
    const typed = [['Content-Type', type] as const, ['Content-Length', String(body.length)] as const];
    const text =
      method === 'GET' ? requestText(method, path, sent) : requestText(method, path, [...sent, ...typed], body);
    assertRefused(
      parseAnswer(await exchange(server.url, Buffer.from(text, 'latin1'))),
      status,
      'invalid_request',
      `${method} ${path}: ${what}`,
    );
  }
  assert.deepEqual(server.reports, []);
});

test('another method is refused with the one that is allowed, and pages of other origins are not let in by OPTIONS', async (t) => {
  const server = await startAuthorizationServer(t);
  for (const [paths, allow, wrong] of [
    [POSTS, 'POST', ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS']],
    [GETS, 'GET, HEAD', ['POST', 'PUT', 'DELETE', 'OPTIONS']],
  ] as const) {
    for (const path of paths) {
      for (const method of wrong) {
        const text = requestText(method, path, [['Host', 'localhost']]);
        const answer = parseAnswer(await exchange(server.url, text));
        assert.equal(answer?.headers.get('allow'), allow, `${method} ${path}`);
        assert.equal(answer?.headers.has('access-control-allow-origin'), false);
        if (method === 'HEAD') assert.deepEqual([answer?.status, answer?.body], [405, '']);
        else assertRefused(answer, 405, 'invalid_request', `${method} ${path}`);
      }
    }
  }
});

test('a request whose rest does not come, or is no HTTP, is refused in the form of its endpoint', async (t) => {
  const timeouts = { headersMs: 200, requestMs: 200, checkMs: 20 };
  const server = await startAuthorizationServer(t, { listener: { timeouts } });
  const begin = (path: string, framing: string) =>
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${FORM}\r\n${framing}\r\n\r\n`;
  for (const path of POSTS) {
    const stalled = parseAnswer(await exchange(server.url, `${begin(path, 'Content-Length: 10')}x`));
    assertRefused(stalled, 408, 'invalid_request', `a body of ${path} that stalls`);
    const broken = parseAnswer(await exchange(server.url, `${begin(path, 'Transfer-Encoding: chunked')}zz\r\n`));
    assertRefused(broken, 400, 'invalid_request', `a chunk of ${path} that is none`);
  }
  const elsewhere = parseAnswer(await exchange(server.url, `${begin('/rdcp/v1/control', 'Content-Length: 10')}x`));
  assert.equal(JSON.parse(elsewhere?.body ?? '').error.code, 'RDCP_TIMEOUT', 'other endpoints have their own form');
});

test('a body that drips over HTTP/2 is refused in the form of its endpoint', async (t) => {
  const { cert, key } = selfSigned();
  const { certFile, keyFile } = writePems({ certFile: cert, keyFile: key });
  // A TLS handshake has the time of headers.
  const timeouts = { headersMs: 1500, requestMs: 1500, checkMs: 20 };
  const server = await startAuthorizationServer(t, {
    config: { server: { tls: { certFile, keyFile } } },
    listener: { timeouts },
  });
  const session = await http2Session(t, server.url, { ca: cert });
  const dripping = session.request(
    { ':method': 'POST', ':path': TOKEN_PATHS.token, 'content-type': FORM },
    { endStream: false },
  );
  dripping.on('error', () => undefined);
  const drip = setInterval(() => dripping.write('x'), 10);
  t.after(() => clearInterval(drip));
  let text = '';
  dripping.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  const [headers] = (await once(dripping, 'response')) as [Record<string, unknown>];
  clearInterval(drip);
  await once(dripping, 'close');
  assert.deepEqual([headers[':status'], JSON.parse(text).error], [408, 'invalid_request']);
  assert.equal((await http2Request(session, { ':path': TOKEN_PATHS.metadata })).status, 200, 'the connection goes on');
});

test('a temporary failure of the server is distinguished from a wrong request', async (t) => {
  const store = createMemoryStore();
  const { records } = store;
  assert.ok(records);
  const begin = { failing: async () => Promise.reject(new Error('away')), hanging: () => new Promise<never>(() => {}) };
  let fault: keyof typeof begin = 'failing';
  const wrapped = { ...store, records: { ...records, write: () => begin[fault]() } };
  const server = await startAuthorizationServer(t, {
    store: wrapped,
    config: { limits: { requestTimeoutSeconds: 1 } },
    wrap: ({ tokens: service }) => ({
      tokens: service && { ...service, revoke: () => Promise.reject(new Error('a defect of ours')) },
    }),
  });
  const told = async (answer: Promise<{ status: number; headers: Headers; body: unknown }>) => {
    const { status, headers, body } = await answer;
    return [status, (body as OAuthErrorResponse).error, headers.get('retry-after')];
  };
  assert.deepEqual(await told(exchangeKey(server, 'operator')), [503, 'temporarily_unavailable', '1']);
  fault = 'hanging';
  assert.deepEqual(await told(exchangeKey(server, 'operator')), [504, 'temporarily_unavailable', null]);
  const broken = post(server, TOKEN_PATHS.revoke, { token: 'x' });
  assert.deepEqual(await told(broken), [500, 'temporarily_unavailable', null]);
  assert.ok(!JSON.stringify((await broken).body).includes('defect'));
  assert.equal(server.reports.length, 1);
  server.startClosing();
  assert.deepEqual(await told(askToken(server, { grant_type: 'x' })), [503, 'temporarily_unavailable', '1']);
  assert.deepEqual(await told(server.request(TOKEN_PATHS.metadata)), [503, 'temporarily_unavailable', '1']);
});

test('a refusal is written down and counted as ever: by its code of RDCP', async (t) => {
  const server = await startAuthorizationServer(t);
  const operator = basic('operator-client', 'wrong');
  await askToken(server, { grant_type: 'client_credentials' }, operator);
  await post(server, TOKEN_PATHS.revoke, { token: 'x' }, operator);
  await askToken(server, { grant_type: 'refresh_token', refresh_token: 'x' });
  await askToken(server, { grant_type: 'nonsense' });
  await exchangeKey(server, 'status', { scope: 'admin' });
  const { body } = await server.request<{ entries: { action: string; outcome: string; error: string }[] }>(
    '/rdcp/v1/audit',
    { key: 'admin' },
  );
  // Later ones of an address go into one entry together.
  const entries = new Set(body.entries.map(({ action, outcome, error }) => `${action} ${outcome} ${error}`));
  assert.deepEqual([...entries].sort(), ['authenticate denied RDCP_AUTH_FAILED', 'authorize denied RDCP_FORBIDDEN']);
  assert.deepEqual(server.authFailures, [
    ['api-key', 'invalid_key'],
    ['api-key', 'invalid_key'],
    ['bearer', 'invalid_token'],
    ['api-key', 'insufficient_scopes'],
  ]);
});
