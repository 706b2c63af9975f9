import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { judge } from '../src/conformance.ts';
import { exchangeRaw, portOf, tlsOptions } from '../src/http.ts';
import { apiKey, type Credentials } from '../src/session.ts';
import { answering, put, status } from './fault-kinds.ts';
import { type Fault, jsonReply, pathOf, serve } from './handler.ts';
import { KEYS } from './reference-credentials.ts';
import { referenceServer } from './reference-server.ts';

const MAIN = apiKey('key', KEYS.main);
const CREDENTIALS: Credentials = { main: MAIN, readonly: apiKey('readonly key', KEYS.readonly), tenants: [] };
const quiet = () => undefined;
const sound: Fault = (next) => next;

for (const [body, code] of [
  ['{}', 200],
  ['[]', 200],
  ['', 404],
  ['{}', 403],
] as const) {
  test(`a server that answers everything with ${code} and '${body}' fails checks, but the run completes`, async (t) => {
    const served = await serve(async () => ({ status: code, headers: {}, body: Buffer.from(body) }));
    t.after(() => served.close());
    const target = { url: new URL(served.url) };
    const run = { level: 3, exhaust: false, only: [] } as const;
    const report = await judge({ target, credentials: CREDENTIALS, ...run }, quiet);
    assert.deepEqual([report.claimed, report.conformant], ['nothing', false]);
    const outcome = (id: string) => report.results.find((result) => result.id === id)?.outcome;
    for (const id of ['L1-WELL-02', 'L1-DISC-02', 'L1-STAT-02', 'L1-CTRL-01']) {
      assert.notEqual(outcome(id), 'PASS', id);
    }
    // Messages of JavaScript for a mistake of the suite.
    const mistakes = report.results.filter(({ got = '' }) => /not a function|not iterable|annot read prop/.test(got));
    assert.deepEqual(mistakes, []);
  });
}

interface Judged {
  readonly what: string;
  readonly fault?: Fault;
  readonly credentials?: Credentials;
  readonly only: Readonly<Record<string, RegExp>>;
}

const missing = (path: string, code = 404) =>
  answering((request) => pathOf(request) === path, jsonReply(code, { error: { code: 'RDCP_NOT_FOUND', message: '' } }));
const of = (main: Credentials['main']): Credentials => ({ ...(main && { main }), tenants: [] });

/** Results for servers that conform only in part, by the id of the check. */
const PARTIAL: readonly Judged[] = [
  {
    what: 'whose refusals say no more than they must',
    fault: put('refusal', 'error.details', undefined),
    only: {
      'L1-SCOP-04': /^SKIP the server does not tell which scope is required$/,
      'L1-SCOP-05': /^SKIP the server does not tell which scopes were provided$/,
      'L1-SCOP-06': /^SKIP the server gives no reason$/,
      'L1-AUTH-10': /^SKIP the server gives no reason$/,
    },
  },
  {
    what: 'that refuses with a code of its own',
    fault: put('refusal', 'error.code', 'RDCP_OTHER'),
    only: { 'L1-AUTH-09': /^SKIP the server refuses a wrong key with another code$/ },
  },
  {
    what: 'without an audit trail',
    fault: missing('/rdcp/v1/audit'),
    credentials: { ...CREDENTIALS, admin: MAIN },
    only: { 'L1-SCOP-08': /^SKIP the server has no audit/, 'L1-AUDT-01': /^SKIP the server has no audit endpoint$/ },
  },
  {
    what: 'that does not let the credential read the trail',
    fault: missing('/rdcp/v1/audit', 403),
    only: { 'L1-AUDT-01': /^SKIP the credential may not read the trail \(--admin-key or --admin-token\)$/ },
  },
  {
    what: 'without categories',
    fault: put('discovery', 'categories', []),
    only: {
      'L1-CTRL-01': /^SKIP discovery lists no category that could be switched and put back$/,
      'L1-CAT-01': /^SKIP the answer holds nothing at categories\[\]/,
    },
  },
  {
    what: 'that is not well',
    fault: status('health', 503),
    only: { 'L1-AUTH-18': /^PASS/ },
  },
  {
    what: 'that was given no credential',
    credentials: of(undefined),
    only: {
      'L1-AUTH-22': /^SKIP no credential was given \(--key, --token\)$/,
      'L1-AUTH-20': /^SKIP no API key was given \(--key\)$/,
    },
  },
  {
    what: 'whose key is made of digits',
    credentials: of(apiKey('key', '1'.repeat(20))),
    only: { 'L1-AUTH-20': /^FAIL 66 bits in 20 characters$/ },
  },
  {
    what: 'whose key is made of hexadecimal digits',
    credentials: of(apiKey('key', 'a1'.repeat(16))),
    only: { 'L1-AUTH-20': /^PASS/ },
  },
  {
    what: 'whose key is made of capitals',
    credentials: of(apiKey('key', 'XYZ'.repeat(4))),
    only: { 'L1-AUTH-20': /^FAIL 60 bits in 12 characters$/ },
  },
  {
    what: 'that is shown a certificate alone',
    credentials: of({ label: 'certificate', method: 'mtls', valid: true }),
    only: { 'L1-AUTH-20': /^SKIP no API key was given \(--key\)$/, 'L1-AUTH-18': /^FAIL/ },
  },
];
for (const { what, fault = sound, credentials = CREDENTIALS, only } of PARTIAL) {
  test(`a server ${what} is judged as far as each check can`, async (t) => {
    const served = await serve(fault(referenceServer()));
    t.after(() => served.close());
    const run = { exhaust: false, only: Object.keys(only) } as const;
    const { results } = await judge({ target: { url: new URL(served.url) }, credentials, ...run }, quiet);
    assert.deepEqual(results.map(({ id }) => id).sort(), Object.keys(only).sort());
    for (const { id, outcome, reason, got } of results) {
      assert.match(`${outcome} ${reason ?? got ?? ''}`, only[id] ?? /^$/, id);
    }
  });
}

test('an answer in chunks is put together', async (t) => {
  const server = createServer((socket) => {
    const head = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Twice: 1\r\nX-Twice: 2\r\n\r\n';
    socket.once('data', () => socket.end(`${head}4\r\n{"a"\r\n3\r\n:1}\r\n0\r\n\r\n`));
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const answer = await exchangeRaw({ url }, 'GET / HTTP/1.1\r\n\r\n');
  assert.deepEqual([answer?.request, answer?.status, answer?.body], ['GET / HTTP/1.1', 200, { a: 1 }]);
  assert.deepEqual(answer?.headers['x-twice'], ['1', '2']);
});

test('a connection that ends without an answer is no answer', async (t) => {
  const server = createServer((socket) => socket.once('data', () => socket.end('SSH-2.0-\r\n'))).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  assert.equal(await exchangeRaw({ url }, 'GET / HTTP/1.1\r\n\r\n'), undefined);
});

test('the port is that of the scheme, and an address is no server name', () => {
  const ports = ['http://host', 'https://host', 'https://host:9465'].map((url) => portOf(new URL(url)));
  assert.deepEqual(ports, [80, 443, 9465]);
  const names = ['https://host', 'https://127.0.0.1', 'https://[::1]'].map(
    (url) => tlsOptions({ url: new URL(url) }).servername,
  );
  assert.deepEqual(names, ['host', '', '']);
});
