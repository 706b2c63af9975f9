import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConsoleCodes } from '../../src/endpoint/routes/console.ts';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import { CONSOLE_PATHS, PATHS } from '../../src/wire/constants.ts';
import type {
  ConsoleCodeResponse,
  ConsoleSessionResponse,
  ErrorResponse,
  WellKnownDocument,
} from '../../src/wire/messages.ts';
import { exchangeKey, startTokenServer } from '../server/tokens.ts';
import { exchange, parseAnswer, requestText } from '../support/raw-http.ts';
import { KEYS, send, startServer, type TestServer } from '../support/server.ts';
import { virtualTime } from '../support/virtual-time.ts';

async function codeOf(server: TestServer, key: keyof typeof KEYS = 'operator'): Promise<string> {
  const { status, body } = await server.request<ConsoleCodeResponse>(CONSOLE_PATHS.code, { method: 'POST', key });
  assert.equal(status, 200);
  assert.equal(body.expiresInSeconds, 60);
  assert.match(body.code, /^[\w-]{43}$/);
  return body.code;
}

function redeem<T = ConsoleSessionResponse>(server: TestServer, body: unknown, headers = {}) {
  return server.request<T>(CONSOLE_PATHS.session, { method: 'POST', body, headers });
}

async function refused(server: TestServer, code: string): Promise<void> {
  const { status, headers, body } = await redeem<ErrorResponse>(server, { code });
  assert.equal(status, 401);
  assert.ok(headers.get('www-authenticate'));
  assert.equal(body.error.code, 'RDCP_AUTH_FAILED');
  assert.deepEqual(body.error.details, { reason: 'invalid_code' });
}

test('a code hands over the credential that it was made with, once', async (t) => {
  const server = await startServer(t);
  const code = await codeOf(server);
  const { status, headers, body } = await redeem(server, { code });
  assert.equal(status, 200);
  assert.deepEqual(body.credential, { kind: 'api-key', value: KEYS.operator });
  assert.equal(headers.get('cache-control'), 'no-store');
  assert.equal(headers.get('set-cookie'), null);
  await refused(server, code);
  const another = await codeOf(server);
  const answers = await Promise.all(Array.from({ length: 8 }, () => redeem(server, { code: another })));
  assert.deepEqual(
    answers.map((each) => each.status).sort(),
    [200, ...Array(7).fill(401)],
    'of eight at once one gets it',
  );
});

test('a token is handed over as a token', async (t) => {
  const server = await startTokenServer(t);
  const { body: session } = await exchangeKey(server, 'operator');
  const bearer = { Authorization: `Bearer ${session.access_token}` };
  const { body } = await server.request<ConsoleCodeResponse>(CONSOLE_PATHS.code, { method: 'POST', headers: bearer });
  assert.deepEqual((await redeem(server, { code: body.code })).body.credential, {
    kind: 'bearer',
    value: session.access_token,
  });
});

test('after 60 seconds a code is worth nothing, and the credential is forgotten without being asked for', async (t) => {
  const time = virtualTime();
  const { delay, schedule } = time;
  const server = await startServer(t, { clock: time.clock, wrap: () => ({ delay, schedule }) });
  const before = time.pending;
  const [early, late, stopped] = [await codeOf(server), await codeOf(server), await codeOf(server)];
  assert.equal(time.pending, before + 3);
  await time.pass(59_000);
  assert.equal((await redeem(server, { code: early })).status, 200);
  // The timers of a process that was stopped are late.
  time.suspend(1000);
  await refused(server, stopped);
  await time.pass(1);
  assert.equal(time.pending, before);
  await refused(server, late);
  await codeOf(server);
  server.streams.close();
  assert.equal(time.pending, before, 'a server that closes forgets its codes');
});

test('wrong, used, old and malformed codes get the same refusal', async (t) => {
  const server = await startServer(t);
  const used = await codeOf(server);
  await redeem(server, { code: used });
  for (const code of [used, 'x', 'x'.repeat(43), `${used} `, '\u202e', '../../etc/passwd']) await refused(server, code);
  for (const [body, field] of [
    [{}, 'code'],
    [{ code: '' }, 'code'],
    [{ code: 1 }, 'code'],
    [{ code: [used] }, 'code'],
    [{ code: 'x'.repeat(257) }, 'code'],
    [{ code: used, more: 1 }, 'more'],
  ] as const) {
    const answer = await redeem<ErrorResponse>(server, body);
    assert.equal(answer.status, 400, JSON.stringify(body));
    assert.equal(answer.body.error.details?.field, field);
  }
  assert.equal((await redeem(server, '{')).status, 400);
  assert.equal((await redeem(server, '{}', { 'Content-Type': 'text/plain' })).status, 415);
});

test('guessing is limited by address, and a good code works all the same', async (t) => {
  const server = await startServer(t, { config: { limits: { anonymousPerMinute: 3 } } });
  const code = await codeOf(server);
  const statuses = [];
  for (let count = 0; count < 5; count += 1) statuses.push((await redeem(server, { code: `guess${count}` })).status);
  assert.deepEqual(statuses, [401, 401, 401, 429, 429]);
  assert.equal((await redeem(server, { code })).status, 200);
  assert.deepEqual(server.authFailures, [
    ...Array(3).fill(['none', 'invalid_code']),
    ...Array(2).fill(['none', 'rate_limited']),
  ]);
});

test('codes that wait are limited, for an identity and altogether, and a used one makes room', async (t) => {
  const server = await startServer(t);
  const ask = () => server.request<ConsoleCodeResponse>(CONSOLE_PATHS.code, { method: 'POST', key: 'operator' });
  const first = await codeOf(server);
  for (let count = 0; count < 3; count += 1) await codeOf(server);
  const { status, headers } = await ask();
  assert.equal(status, 429);
  assert.ok(headers.get('retry-after'));
  assert.equal((await server.request(CONSOLE_PATHS.code, { method: 'POST', key: 'status' })).status, 200);
  await redeem(server, { code: first });
  assert.equal((await ask()).status, 200);
});

test('codes are for this machine: no proxy, no name of another one', async (t) => {
  const server = await startServer(t, { config: { server: { allowedHosts: ['debug.example.com'] } } });
  const code = await codeOf(server);
  const { port } = new URL(server.url);
  for (const headers of [
    { 'X-Forwarded-For': '203.0.113.7' },
    { 'X-Forwarded-For': '127.0.0.1' },
    { Forwarded: 'for=127.0.0.1' },
    { 'X-Real-IP': '127.0.0.1' },
    { Via: '1.1 proxy' },
  ]) {
    for (const [path, request] of [
      [CONSOLE_PATHS.code, { method: 'POST', key: 'admin', headers }],
      [CONSOLE_PATHS.session, { method: 'POST', body: { code }, headers }],
    ] as const) {
      const { status, body } = await server.request(path, request);
      assert.equal(status, 403, JSON.stringify(headers));
      assert.deepEqual(body.error.details, { reason: 'not_local' });
    }
  }
  const named = await exchange(
    server.url,
    requestText('POST', CONSOLE_PATHS.code, [
      ['Host', `debug.example.com:${port}`],
      ['X-RDCP-API-Key', KEYS.admin],
      ['Content-Length', '0'],
    ]),
  );
  assert.equal(parseAnswer(named)?.status, 403);
  assert.equal((await redeem(server, { code })).status, 200);
});

test('a request without a key or token gets no code, and a refusal that says why', async (t) => {
  const authenticate = () => ({ valid: true, method: 'bearer', userId: 'alice', scopes: ['admin'] }) as const;
  const server = await startServer(t, { config: { security: { authenticate } } });
  const { status, body } = await server.request(CONSOLE_PATHS.code, { method: 'POST', headers: { Cookie: 'sid=1' } });
  assert.equal(status, 400);
  assert.deepEqual(body.error.details, { reason: 'no_credential' });
});

test('both steps are entries of the trail, under the identity of the credential and without the code', async (t) => {
  const server = await startServer(t);
  const code = await codeOf(server);
  await redeem(server, { code });
  await refused(server, code);
  const { text, body } = await server.request<AuditResponse>(`${PATHS.audit}?action=authenticate`, { key: 'admin' });
  assert.deepEqual(
    body.entries.toReversed().map(({ outcome, reason, identity }) => [outcome, reason, identity.clientId]),
    [
      ['success', 'one-time code for the console', 'operator-client'],
      ['success', 'console, by a one-time code', 'operator-client'],
      ['denied', undefined, undefined],
    ],
  );
  assert.ok(!text.includes(code) && !text.includes(KEYS.operator));
});

test('without the console there are no codes, and the well-known document names them where there are', async (t) => {
  for (const console of [true, false]) {
    const server = await startServer(t, { config: { console } });
    const { body } = await send<WellKnownDocument>(`${server.url}${PATHS.wellKnown}`);
    const named = console ? [CONSOLE_PATHS.code, CONSOLE_PATHS.session] : [undefined, undefined];
    assert.deepEqual([body.otelrdcp_endpoints.consoleCode, body.otelrdcp_endpoints.consoleSession], named);
    const { status } = await server.request(CONSOLE_PATHS.code, { method: 'POST', key: 'admin' });
    assert.equal(status, console ? 200 : 404);
  }
});

test('a code in the folder of a cluster is redeemed once, by any worker, and not after its minute', async () => {
  const kept = new Map<string, string>();
  let takes = 0;
  const folder = {
    put: (name: string, text: string) => kept.set(name, text) === kept,
    take: (name: string) => {
      takes += 1;
      const text = kept.get(name);
      kept.delete(name);
      return text;
    },
  };
  const time = virtualTime();
  const open = (randomCode = '') =>
    new ConsoleCodes({ ...time, randomCode: () => randomCode, shared: () => folder, report: assert.ifError });
  const credential = { kind: 'api-key', value: KEYS.operator } as const;
  const principal = { method: 'api-key', userId: 'ops', scopes: ['control'] } as const;
  const [here, there] = [open('first'), open('second')];
  assert.equal(here.issue(principal, credential), 'first');
  assert.equal(there.issue(principal, credential), 'second');
  for (const code of ['first', 'second']) {
    takes = 0;
    assert.deepEqual(here.redeem(code)?.credential, credential);
    assert.equal(takes, 1);
    assert.equal(there.redeem(code), undefined);
  }
  here.issue(principal, credential);
  time.suspend(60_000);
  assert.equal(there.redeem('first'), undefined);
  await time.pass(60_000);
  assert.deepEqual([time.pending, kept.size], [0, 0]);
});
