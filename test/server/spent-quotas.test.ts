import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import type { RdcpConfig } from '../../src/options/options.ts';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import { PATHS } from '../../src/wire/constants.ts';
import { createAuthority, writePems } from '../support/certificate.ts';
import { exchange, parseAnswer, requestText } from '../support/raw-http.ts';
import { KEYS, type KeyName, startServer, withMembers } from '../support/server.ts';
import { http2Request, http2Session } from '../support/tls-client.ts';

const LIMITS: RdcpConfig['limits'] = {
  anonymousPerMinute: 2,
  readPerMinute: 2,
  controlPerMinute: 2,
  healthPerMinute: 2,
};
const CONTROL = JSON.stringify({ action: 'status' });

interface Sent {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Requests that do not ask for the connection to be closed. Each resolves with the answer once the server has closed it. */
async function refusals(url: string, { path, headers = {}, body }: Sent, count: number) {
  const all: [string, string][] = [
    ['Host', 'localhost'],
    ...Object.entries(headers),
    ...(body === undefined
      ? []
      : ([
          ['Content-Type', 'application/json'],
          ['Content-Length', String(body.length)],
        ] as [string, string][])),
  ];
  const text = requestText(body === undefined ? 'GET' : 'POST', path, all).replace('Connection: close\r\n', '');
  const answers = [];
  for (let index = 0; index < count; index += 1) {
    answers.push(
      parseAnswer(await exchange(url, text, (socket) => void (body && setTimeout(() => socket.write(body), 10)))),
    );
  }
  return answers;
}

async function spend(request: (path: string) => Promise<unknown>, path: string): Promise<void> {
  for (let index = 0; index < 2; index += 1) await request(path);
}

const KINDS: readonly (readonly [name: string, sent: Sent, key: KeyName | undefined])[] = [
  ['no credential at a read', { path: PATHS.status }, undefined],
  ['no credential at the well-known document', { path: PATHS.wellKnown }, undefined],
  ['no credential at health', { path: PATHS.health }, undefined],
  ['a key at a read', { path: PATHS.status, headers: { 'X-RDCP-API-Key': KEYS.operator } }, 'operator'],
  [
    'a key at control',
    { path: PATHS.control, headers: { 'X-RDCP-API-Key': KEYS.operator }, body: CONTROL },
    'operator',
  ],
  ['no credential at control', { path: PATHS.control, body: CONTROL }, undefined],
];

for (const [name, sent, key] of KINDS) {
  test(`with its quota spent, ${name} is refused, and each refusal ends its connection`, async (t) => {
    const server = await startServer(t, { config: { limits: LIMITS } });
    const body = sent.body === undefined ? {} : { method: 'POST', body: sent.body };
    await spend((path) => server.request(path, { ...body, ...(key !== undefined && { key }) }), sent.path);
    for (const answer of await refusals(server.url, sent, 4)) {
      assert.deepEqual([answer?.status, answer?.headers.get('connection')], [429, 'close']);
      assert.ok(Number(answer?.headers.get('retry-after')) >= 1);
    }
    assert.equal((await server.request(PATHS.status, { key: 'admin' })).status, 200, 'anybody else is served');
    const { body: trail } = await server.request<AuditResponse>(`${PATHS.audit}?outcome=denied`, { key: 'admin' });
    const limited = trail.entries.filter(({ error }) => error === 'RDCP_RATE_LIMITED');
    // Those without a credential may wait for the end of their minute.
    assert.ok(limited.length === 1 || (key === undefined && limited.length === 0));
    const counted = server.authFailures.filter(([, reason]) => reason === 'rate_limited');
    assert.deepEqual(counted, Array(4).fill([key === undefined ? 'none' : 'api-key', 'rate_limited']));
  });
}

test('a credential is verified once for a request, also after another quota is spent', async (t) => {
  let asked = 0;
  const server = await startServer(t, {
    config: { limits: LIMITS },
    wrap: ({ authenticator }) => ({
      authenticator: withMembers(authenticator, {
        authenticate: (request) => {
          asked += 1;
          return authenticator.authenticate(request);
        },
      }),
    }),
  });
  for (let index = 0; index < 4; index += 1) await server.request(PATHS.status);
  assert.equal((await server.request(PATHS.status, { key: 'status' })).status, 200);
  assert.equal(asked, 5);
});

test('the connection of a trusted proxy goes on: it carries the requests of others', async (t) => {
  const server = await startServer(t, { config: { limits: LIMITS, server: { trustedProxies: ['127.0.0.1'] } } });
  const headers = { 'X-Forwarded-For': '192.0.2.1' };
  for (let index = 0; index < 5; index += 1) {
    const { headers: answered } = await server.request(PATHS.status, { headers });
    assert.equal(answered.get('connection'), 'keep-alive');
  }
});

test('over HTTP/2 a refusal ends the session with GOAWAY', async (t) => {
  const authority = createAuthority();
  const { cert, key } = authority.issue('localhost', { usage: 'server' });
  const tls = writePems({ certFile: cert, keyFile: key });
  const server = await startServer(t, { config: { limits: LIMITS, server: { tls } } });
  for (const status of [401, 401, 429, 429]) {
    const session = await http2Session(t, server.url, { ca: authority.cert });
    const goaway = once(session, 'goaway');
    const { status: answered } = await http2Request(session, { ':path': PATHS.status });
    assert.equal(answered, status);
    if (status === 429) await goaway;
    session.close();
  }
  const flooding = await http2Session(t, server.url, { ca: authority.cert });
  const ended = once(flooding, 'close');
  const answers = Array.from({ length: 50 }, () =>
    http2Request(flooding, { ':path': PATHS.status }).catch(() => undefined),
  );
  await ended;
  for (const answer of await Promise.all(answers)) assert.ok(answer === undefined || answer.status === 429);
});
