import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { createRateLimiter } from '../../src/endpoint/middleware/access.ts';
import { addressKey } from '../../src/endpoint/request.ts';
import type { RdcpConfig } from '../../src/options/options.ts';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import { PATHS } from '../../src/wire/constants.ts';
import { type Clock, systemClock } from '../../src/wire/time/clock.ts';
import { writeCertificate } from '../support/certificate.ts';
import fc from '../support/fast-check.ts';
import { exchange, parseAnswer, requestText } from '../support/raw-http.ts';
import { KEYS, type KeyName, startServer, type TestRequest, withMembers } from '../support/server.ts';
import { inBoth, runs } from '../support/tiers.ts';
import { http2Request, http2Session } from '../support/tls-client.ts';

const CHANGE: TestRequest = { method: 'POST', key: 'operator', body: { action: 'enable', categories: 'HTTP' } };

/** A server whose clock stands still until it is moved. */
async function limited(t: TestContext, limits: RdcpConfig['limits']) {
  let offset = 0;
  const started = Math.round(systemClock.monotonic());
  const clock: Clock = { now: () => Date.now(), monotonic: () => started + offset };
  const server = await startServer(t, { clock, config: { limits: limits ?? {} } });
  return {
    server,
    wait: (milliseconds: number) => {
      offset += milliseconds;
    },
  };
}

test('control is limited per identity, whatever its headers say', async (t) => {
  const { server, wait } = await limited(t, { controlPerMinute: 3 });
  for (let index = 0; index < 3; index += 1) {
    const headers = { 'X-RDCP-Client-ID': `client-${index}`, 'X-Forwarded-For': `192.0.2.${index}` };
    const { status, headers: answered } = await server.request(PATHS.control, { ...CHANGE, headers });
    assert.equal(status, 200);
    assert.equal(answered.get('ratelimit-policy'), '"control";q=3;w=60');
    assert.equal(answered.get('ratelimit'), `"control";r=${2 - index};t=60`);
  }
  wait(20_500);
  const refused = await server.request(PATHS.control, CHANGE);
  assert.equal(refused.status, 429);
  assert.equal(refused.body.error.code, 'RDCP_RATE_LIMITED');
  assert.equal(refused.headers.get('retry-after'), '40');
  assert.equal(refused.headers.get('ratelimit'), '"control";r=0;t=40');
  assert.equal((await server.request(PATHS.control, { ...CHANGE, key: 'admin' })).status, 200);
  assert.equal((await server.request(PATHS.status, { key: 'operator' })).status, 200);
  wait(40_000);
  assert.equal((await server.request(PATHS.control, CHANGE)).status, 200);
});

test('reads have a quota of their own, on every read', async (t) => {
  const { server } = await limited(t, { readPerMinute: 5 });
  const paths = [PATHS.status, PATHS.discovery, PATHS.metrics, PATHS.session, PATHS.health];
  for (const [index, path] of paths.entries()) {
    const { status, headers } = await server.request(path, { key: 'operator' });
    assert.equal(status, 200);
    assert.equal(headers.get('ratelimit'), `"read";r=${4 - index};t=60`);
  }
  for (const path of paths) assert.equal((await server.request(path, { key: 'operator' })).status, 429);
  assert.equal((await server.request(PATHS.control, CHANGE)).status, 200);
});

test('an identity that keeps asking for what it may not do is limited too', async (t) => {
  const { server } = await limited(t, { controlPerMinute: 2 });
  const statuses = [];
  for (let index = 0; index < 3; index += 1) {
    statuses.push((await server.request(PATHS.control, { ...CHANGE, key: 'status' })).status);
  }
  assert.deepEqual(statuses, [403, 403, 429]);
});

test('requests without a valid credential are limited per address, and a valid one is still served', async (t) => {
  const { server, wait } = await limited(t, { anonymousPerMinute: 4 });
  const wrong = { headers: { 'X-RDCP-API-Key': 'x'.repeat(40) } };
  assert.equal((await server.request(PATHS.status)).status, 401);
  assert.equal((await server.request(PATHS.status, wrong)).status, 401);
  assert.equal((await server.request(PATHS.health, wrong)).status, 401);
  assert.equal((await server.request(PATHS.wellKnown)).status, 200);
  for (const [path, request] of [
    [PATHS.status, {}],
    [PATHS.status, wrong],
    [PATHS.health, wrong],
    [PATHS.wellKnown, {}],
    [PATHS.wellKnown, wrong],
    [PATHS.control, { method: 'POST', body: {} }],
  ] as const) {
    const { status, headers } = await server.request(path, request);
    assert.equal(status, 429);
    assert.equal(headers.get('ratelimit-policy'), '"anonymous";q=4;w=60');
    assert.ok(Number(headers.get('retry-after')) >= 1);
  }
  for (const path of [PATHS.status, PATHS.health, PATHS.wellKnown]) {
    assert.equal((await server.request(path, { key: 'operator' })).status, 200);
  }
  wait(60_000);
  assert.equal((await server.request(PATHS.wellKnown)).status, 200);
});

test('health without a credential has a limit of its own, which no other request spends and which spends no other', async (t) => {
  const { server, wait } = await limited(t, { anonymousPerMinute: 2, healthPerMinute: 3, readPerMinute: 1 });
  const wrong = { headers: { 'X-RDCP-API-Key': 'x'.repeat(40) } };
  const statuses = async (path: string, request: TestRequest, times: number) => {
    const found = [];
    for (let index = 0; index < times; index += 1) found.push((await server.request(path, request)).status);
    return found;
  };
  assert.deepEqual(await statuses(PATHS.status, wrong, 3), [401, 401, 429], 'the address is spent');
  assert.deepEqual(await statuses(PATHS.health, { key: 'status' }, 2), [200, 429], 'and so is an identity');
  const { status, headers } = await server.request(PATHS.health);
  assert.equal(status, 200);
  assert.equal(headers.get('ratelimit-policy'), '"health";q=3;w=60');
  assert.deepEqual(await statuses(PATHS.health, wrong, 2), [429, 429], 'keys are guessed here no more often');
  assert.deepEqual(await statuses(PATHS.health, {}, 3), [200, 200, 429]);
  wait(60_000);
  assert.deepEqual(await statuses(PATHS.health, {}, 4), [200, 200, 200, 429]);
  assert.deepEqual(await statuses(PATHS.status, {}, 3), [401, 401, 429], 'probes have spent nothing of it');
});

test('what was switched can be ended after the limit on controls, up to 600 a minute', async (t) => {
  const { server } = await limited(t, { controlPerMinute: 2 });
  const statusOf = async (action: string) =>
    (await server.request(PATHS.control, { ...CHANGE, body: { action, categories: ['DATABASE'] } })).status;
  assert.deepEqual([await statusOf('enable'), await statusOf('enable'), await statusOf('enable')], [200, 200, 429]);
  assert.deepEqual([await statusOf('reset'), await statusOf('disable'), await statusOf('toggle')], [200, 200, 429]);
  assert.equal(server.gate.category('DATABASE').enabled, false);
  const wrong = await server.request(PATHS.control, { ...CHANGE, body: { action: 'reset', what: 1 } });
  assert.equal(wrong.status, 429);
  let ended = 0;
  while ((await statusOf('reset')) === 200) ended += 1;
  assert.equal(ended, 595);
});

test('every refusal of an identity is an entry of the trail', async (t) => {
  const server = await startServer(t);
  await server.request(PATHS.control, {
    method: 'POST',
    key: 'status',
    headers: { 'X-RDCP-Request-ID': 'refused-1', 'User-Agent': `test\x9b31m${'x'.repeat(300)}` },
    body: { action: 'enable', categories: 'HTTP' },
  });
  const { body } = await server.request<AuditResponse>(`${PATHS.audit}?outcome=denied`, { key: 'admin' });
  const [entry] = body.entries;
  assert.equal(entry?.action, 'authorize');
  assert.equal(entry?.error, 'RDCP_FORBIDDEN');
  assert.equal(entry?.requestId, 'refused-1');
  assert.equal(entry?.identity.clientId, 'status-client');
  assert.equal(entry?.source?.address, '127.0.0.1');
  assert.equal(entry?.source?.userAgent, `test\\u009b31m${'x'.repeat(248)}`);
});

function limiterAt(limit: number) {
  let now = 0;
  const limiter = createRateLimiter({ name: 'test', limit, clock: { monotonic: () => now } });
  return {
    limiter,
    at: (time: number) => {
      now = time;
    },
  };
}

inBoth('no rolling window holds more allowed requests than the limit, and none is refused without need', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 40 }),
      fc.array(fc.oneof(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 0, max: 70_000 })), { maxLength: 300 }),
      (limit, gaps) => {
        const { limiter, at } = limiterAt(limit);
        const allowed: number[] = [];
        let now = 0;
        for (const gap of gaps) {
          now += gap;
          at(now);
          const inWindow = allowed.filter((time) => time > now - 60_000).length;
          const verdict = limiter.take('client');
          assert.equal(verdict.allowed, inWindow < limit);
          const oldest = allowed.find((time) => time > now - 60_000) ?? now;
          if (!verdict.allowed) assert.equal(verdict.resetSeconds, Math.ceil((oldest + 60_000 - now) / 1000));
          if (verdict.allowed) allowed.push(now);
          assert.equal(verdict.remaining, limit - inWindow - (verdict.allowed ? 1 : 0));
        }
        for (const start of allowed) {
          assert.ok(allowed.filter((time) => time >= start && time < start + 60_000).length <= limit);
        }
      },
    ),
    { numRuns: runs(500) },
  );
});

test('only the first refusal after an allowed request is a new one', () => {
  const { limiter, at } = limiterAt(1);
  limiter.take('client');
  assert.deepEqual(
    [limiter.take('client'), limiter.take('client')].map(({ repeated }) => repeated),
    [false, true],
  );
  at(60_000);
  assert.equal(limiter.take('client').allowed, true);
  assert.equal(limiter.take('client').repeated, false);
});

test('counters are bounded, and having one forgotten takes far more than 10,000 other clients', () => {
  const { limiter } = limiterAt(1);
  limiter.take('first');
  for (let index = 0; index < 19_999; index += 1) limiter.take(`other-${index}`);
  assert.equal(limiter.take('first').allowed, false);
  for (let index = 0; index < 20_000; index += 1) limiter.take(`another-${index}`);
  assert.equal(limiter.take('first').allowed, true, 'the quietest is forgotten');
  assert.equal(limiter.take('another-19999').allowed, false);
});

test('whether a quota is spent is known without spending any of it', () => {
  const { limiter, at } = limiterAt(2);
  for (const spent of [false, false, true, true]) {
    assert.equal(limiter.isSpent('client'), spent);
    assert.equal(limiter.isSpent('client'), spent);
    limiter.take('client');
  }
  at(59_999);
  assert.equal(limiter.isSpent('client'), true);
  at(60_000);
  assert.equal(limiter.isSpent('client'), false);
});

test('an IPv6 subscriber counts as one address, an IPv4 address as itself', () => {
  assert.equal(addressKey('192.0.2.1'), '192.0.2.1');
  assert.equal(addressKey('2001:db8:1:2::1'), addressKey('2001:db8:1:2:ffff:ffff:ffff:ffff'));
  assert.equal(addressKey('2001:0db8:0001:0002::1'), addressKey('2001:db8:1:2::2'));
  assert.notEqual(addressKey('2001:db8:1:2::1'), addressKey('2001:db8:1:3::1'));
  assert.equal(addressKey('::1'), '0:0:0:0');
  assert.equal(addressKey('fe80::1%eth0'), addressKey('fe80::2'));
});

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
  const { cert, ...tls } = writeCertificate();
  const server = await startServer(t, { config: { limits: LIMITS, server: { tls } } });
  for (const status of [401, 401, 429, 429]) {
    const session = await http2Session(t, server.url, { ca: cert });
    const goaway = once(session, 'goaway');
    const { status: answered } = await http2Request(session, { ':path': PATHS.status });
    assert.equal(answered, status);
    if (status === 429) await goaway;
    session.close();
  }
  const flooding = await http2Session(t, server.url, { ca: cert });
  const ended = once(flooding, 'close');
  const answers = Array.from({ length: 50 }, () =>
    http2Request(flooding, { ':path': PATHS.status }).catch(() => undefined),
  );
  await ended;
  for (const answer of await Promise.all(answers)) assert.ok(answer === undefined || answer.status === 429);
});
