import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import { PROTOCOL, TOKEN_PATHS } from '../../src/wire/constants.ts';
import type { OAuthErrorResponse } from '../../src/wire/oauth-messages.ts';
import { askToken, basic, exchangeKey, post } from '../server/tokens.ts';
import { selfSigned, writePems } from '../support/certificate.ts';
import { exchange, parseAnswer, type RawAnswer } from '../support/raw-http.ts';
import { http2Request, http2Session } from '../support/tls-client.ts';
import { startAuthorizationServer } from './authorization-server.ts';

// What test/server/errors.test.ts cannot send: whatever goes wrong at an endpoint of OAuth is told as OAuth has it.

const FORM = 'application/x-www-form-urlencoded';

/** The form, the status, and the headers that all answers have. */
function assertRefused(answer: RawAnswer | undefined, status: number, what: string): void {
  assert.equal(answer?.status, status, `${what}: ${answer?.body}`);
  const body: OAuthErrorResponse = JSON.parse(answer?.body ?? '');
  assert.deepEqual([Object.keys(body), body.error], [['error', 'error_description'], 'invalid_request'], what);
  const headers = ['content-type', 'cache-control', 'pragma', 'x-rdcp-protocol'];
  assert.deepEqual(
    headers.map((name) => answer?.headers.get(name)),
    ['application/json; charset=utf-8', 'no-store', 'no-cache', PROTOCOL],
    what,
  );
  assert.ok(answer?.headers.get('x-rdcp-request-id'), what);
}

test('a request whose rest does not come, or is no HTTP, is refused in the form of its endpoint', async (t) => {
  const timeouts = { headersMs: 200, requestMs: 200, checkMs: 20 };
  const server = await startAuthorizationServer(t, { listener: { timeouts } });
  const begin = (path: string, framing: string) =>
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${FORM}\r\n${framing}\r\n\r\n`;
  for (const path of [TOKEN_PATHS.token, TOKEN_PATHS.revoke]) {
    const stalled = parseAnswer(await exchange(server.url, `${begin(path, 'Content-Length: 10')}x`));
    assertRefused(stalled, 408, `a body of ${path} that stalls`);
    const broken = parseAnswer(await exchange(server.url, `${begin(path, 'Transfer-Encoding: chunked')}zz\r\n`));
    assertRefused(broken, 400, `a chunk of ${path} that is none`);
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
