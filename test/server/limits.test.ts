import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { parseConfig } from '../../src/options/config.ts';
import type { RdcpConfig } from '../../src/options/options.ts';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import { PATHS } from '../../src/wire/constants.ts';
import { type Clock, systemClock } from '../../src/wire/time/clock.ts';
import { startServer, type TestRequest } from '../support/server.ts';

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

test('health answers ten probes a second for a minute where nothing else is configured', async (t) => {
  const server = await startServer(t, { config: { limits: parseConfig({}).limits } });
  const { headers } = await server.request(PATHS.health);
  assert.equal(headers.get('ratelimit-policy'), '"health";q=600;w=60');
});

test('a client that runs into its limit again and again is one entry of the trail', async (t) => {
  const { server } = await limited(t, { controlPerMinute: 1 });
  for (let index = 0; index < 5; index += 1) await server.request(PATHS.control, CHANGE);
  const { body } = await server.request<AuditResponse>(`${PATHS.audit}?outcome=denied`, { key: 'admin' });
  assert.deepEqual(
    body.entries.map(({ action, error }) => [action, error]),
    [['authorize', 'RDCP_RATE_LIMITED']],
  );
});

test('what was switched can be ended after the limit on controls, up to 600 a minute', async (t) => {
  const server = await startServer(t, { config: { limits: { controlPerMinute: 2 } } });
  const statusOf = async (action: string) =>
    (await server.request(PATHS.control, { ...CHANGE, body: { action, categories: ['DATABASE'] } })).status;
  assert.deepEqual([await statusOf('enable'), await statusOf('enable'), await statusOf('enable')], [200, 200, 429]);
  assert.deepEqual([await statusOf('reset'), await statusOf('disable'), await statusOf('toggle')], [200, 200, 429]);
  assert.equal(server.gate.category('DATABASE').enabled, false);
  const wrong = await server.request(PATHS.control, { ...CHANGE, body: { action: 'reset', what: 1 } });
  assert.equal(wrong.status, 429);
  let ended = 0;
  while ((await statusOf('reset')) === 200) ended += 1;
  assert.ok(ended > 580 && ended < 600, `${ended}`);
});
