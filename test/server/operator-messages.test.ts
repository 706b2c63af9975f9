import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { diag } from '@opentelemetry/api';
import { Views } from '../../src/control/views.ts';
import type { RdcpConfig } from '../../src/options/options.ts';
import { CONDITIONS } from '../../src/otel/report/conditions.ts';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import { PATHS } from '../../src/wire/constants.ts';
import type { ControlRequest } from '../../src/wire/control-request.ts';
import type { HealthResponse } from '../../src/wire/messages.ts';
import { serveIntrospection } from '../auth/introspection-server.ts';
import { makeKey } from '../auth/records.ts';
import { createMeasuredTelemetry, samples } from '../metrics/scrape.ts';
import { startRedis, whyNoRedis } from '../store/redis-server.ts';
import { newFolder } from '../support/folder.ts';
import { freePort } from '../support/free-port.ts';
import { portOf } from '../support/listening.ts';
import { startService } from '../support/service.ts';
import { inFull } from '../support/tiers.ts';
import { until } from '../support/until.ts';
import { pemOf } from '../tickets/tickets.ts';

const { key: KEY, record: ops } = makeKey({ id: 'ops', scopes: ['admin'] });
const apiKeys = [ops];

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
/** A token that makes its issuer's keys be fetched. */
const UNSIGNED = `${part({ alg: 'ES256', kid: 'k' })}.${part({ iss: 'them', aud: 'us', sub: 'a', exp: 9e9 })}.AAAA`;

/** A whole service, with what its operator sees: lines, health, metrics, trail. */
async function start(t: TestContext, config: RdcpConfig) {
  const { telemetry, scrape } = createMeasuredTelemetry();
  const { url, lines } = await startService(t, config, { telemetry });
  const get = (path: string, headers: Record<string, string> = { 'x-rdcp-api-key': KEY }) =>
    fetch(`${url}${path}`, { headers });
  return {
    url,
    lines,
    get,
    health: async (headers?: Record<string, string>) =>
      (await get(PATHS.health, headers)).json() as Promise<HealthResponse>,
    entries: async () =>
      ((await (await get(`${PATHS.audit}?action=credentials.reload`)).json()) as AuditResponse).entries.map(
        ({ outcome, reason }) => `${outcome}: ${reason}`,
      ),
    failures: async () => samples(await scrape(), 'rdcp_credentials_reload_failures_total', 'rdcp_condition_name'),
    active: async () => samples(await scrape(), 'rdcp_condition_active', 'rdcp_condition_name'),
  };
}

/** Health keeps an answer for a second. */
async function untilHealth(service: Awaited<ReturnType<typeof start>>, status: HealthResponse['status']) {
  await until(status, async () => (await service.health()).status === status);
}

function reasonOf({ checks }: HealthResponse, name: string): string | undefined {
  return checks?.find((check) => check.name === name)?.otelrdcp_reason;
}

test('a key that was removed from a file which is no JSON any more still works, and is reported until the file is mended', async (t) => {
  const directory = newFolder(t);
  const file = join(directory, 'keys.json');
  const removed = makeKey({ id: 'removed', clientId: 'removed', scopes: ['admin'] });
  writeFileSync(file, JSON.stringify({ keys: [ops, removed.record] }, undefined, 1));
  const service = await start(t, { security: { apiKeys: { file } } });
  assert.equal((await service.health()).status, 'healthy');
  const asRemoved = { 'x-rdcp-api-key': removed.key };

  const one = JSON.stringify({ keys: [ops] }, undefined, 1);
  const broken = one.replace(/\}\n \]/, '},\n ]');
  writeFileSync(file, broken);
  await untilHealth(service, 'degraded');
  const problem = 'keys file keys.json: the file is not JSON';
  assert.equal((await service.get(PATHS.status, asRemoved)).status, 200);
  assert.equal(reasonOf(await service.health(), 'credentials'), problem);
  const anonymous = await service.health({});
  assert.deepEqual(anonymous.checks, []);
  assert.equal(JSON.stringify(anonymous).includes('keys.json'), false);
  const message = `${problem}; ${CONDITIONS.keys_file.meanwhile}`;
  assert.deepEqual(service.lines, [`rdcp: ${message}`]);
  assert.deepEqual(await service.failures(), { keys_file: 1 });
  assert.deepEqual(await service.active(), { keys_file: 1 });
  assert.deepEqual(await service.entries(), [`failed: ${message}`]);

  writeFileSync(file, one);
  await untilHealth(service, 'healthy');
  assert.equal((await service.get(PATHS.status, asRemoved)).status, 401);
  const { over } = CONDITIONS.keys_file;
  assert.deepEqual(service.lines, [`rdcp: ${message}`, `rdcp: ${over}`]);
  assert.deepEqual(await service.active(), { keys_file: 0 });
  assert.deepEqual(await service.failures(), { keys_file: 1 });
  assert.deepEqual(await service.entries(), [`success: ${over}`, `failed: ${message}`]);
});

test('a document of controls that is refused is reported, until there is none', async (t) => {
  const file = join(newFolder(t), 'controls.jwt');
  writeFileSync(file, 'not signed');
  const issuers = [{ issuer: 'https://ops.example', publicKey: pemOf(generateKeyPairSync('ed25519').publicKey) }];
  const service = await start(t, { pull: { file, every: '1s' }, security: { apiKeys, tickets: { issuers } } });
  await untilHealth(service, 'degraded');
  assert.equal(reasonOf(await service.health(), 'pull'), 'pull.file is refused (malformed)');
  rmSync(file);
  await untilHealth(service, 'healthy');
});

test('a fault of the endpoint is one line a minute for each kind, in a request and in a stream, and its stack is left to the diagnostics', async (t) => {
  const diagnosed: unknown[] = [];
  diag.setLogger({ ...console, verbose: console.log, error: (...message) => void diagnosed.push(...message) });
  t.after(() => diag.disable());
  const service = await start(t, { security: { apiKeys } });
  const watching = await service.get(PATHS.events);
  t.after(() => watching.body?.cancel());
  t.mock.method(Views.prototype, 'of', function lookUp() {
    throw new TypeError('/home/shop/token=abc\n    at token=abc (file)');
  });
  await until('the stream', () => service.lines.length > 0);
  for (const path of [PATHS.discovery, PATHS.discovery, PATHS.status])
    assert.equal((await service.get(path)).status, 500);
  const problem = 'RDCP_SERVER_ERROR: TypeError in Views.lookUp; see docs/messages.md#internal-errors';
  assert.deepEqual(service.lines, [
    `rdcp: a timer failed: ${problem}`,
    `rdcp: GET /rdcp/v1/discovery failed: ${problem}`,
    `rdcp: GET /rdcp/v1/status failed: ${problem}`,
  ]);
  assert.ok(diagnosed.some((error) => error instanceof TypeError));
});

test('an introspection endpoint that refuses our secret is reported with the first token', async (t) => {
  const issuer = await serveIntrospection(t, () => 401);
  const secret = 'the-secret-that-must-not-be-shown';
  const service = await start(t, {
    security: { apiKeys, introspection: { endpoint: issuer.endpoint, clientId: 'rdcp', clientSecret: secret } },
  });
  assert.equal((await service.get(PATHS.status, { authorization: 'Bearer opaque' })).status, 503);
  const problem = 'security.introspection.endpoint answers with status 401: it refuses clientId or clientSecret';
  assert.deepEqual(service.lines, [`rdcp: ${problem}; ${CONDITIONS.introspection.meanwhile}`]);
  await untilHealth(service, 'degraded');
  assert.equal(reasonOf(await service.health(), 'credentials'), problem);
  assert.equal((await service.entries()).length, 1);
  assert.equal(JSON.stringify([await service.health(), await service.entries()]).includes(secret), false);

  issuer.answer = () => ({ active: false });
  assert.equal((await service.get(PATHS.status, { authorization: 'Bearer another' })).status, 401);
  await untilHealth(service, 'healthy');
  assert.equal(service.lines.at(-1), `rdcp: ${CONDITIONS.introspection.over}`);
});

/** A service that trusts an issuer, whose key set is answered with. */
async function trusting(t: TestContext, answer: RequestListener | undefined) {
  const port = answer === undefined ? await freePort() : await portOf(t, createServer(answer));
  const jwksUri = `http://127.0.0.1:${port}/keys`;
  const service = await start(t, {
    security: { apiKeys, jwt: { issuer: 'them', audience: 'us', algorithms: ['ES256'], jwksUri } },
  });
  const ask = async () => (await service.get(PATHS.status, { authorization: `Bearer ${UNSIGNED}` })).status;
  return { ...service, ask };
}

const OTHER_KEYS = '{"keys":[{"kty":"EC","crv":"P-256","kid":"other","x":"a","y":"b"}]}';

for (const [what, answer, problem] of [
  ['does not answer', undefined, /^rdcp: security\.jwt\.jwksUri cannot be reached \(ECONNREFUSED\);/],
  ['answers 503', [503, ''], /^rdcp: security\.jwt\.jwksUri answers with status 503;/],
  ['answers a page', [200, '<html>'], /^rdcp: security\.jwt\.jwksUri answers with an invalid key set;/],
  ['has no keys', [200, '{"keys":[]}'], /^rdcp: security\.jwt\.jwksUri answers with an empty key set;/],
] as const) {
  test(`a token issuer whose key set ${what} is reported, and degrades health`, async (t) => {
    const service = await trusting(t, answer && ((_req, res) => res.writeHead(answer[0]).end(answer[1])));
    for (let times = 0; times < 2; times++) await service.ask();
    assert.equal(service.lines.length, 1);
    assert.match(service.lines[0] ?? '', problem);
    await untilHealth(service, 'degraded');
  });
}

test('an issuer whose keys cannot be fetched at the start is reported before any token, and the first token asks again', async (t) => {
  let status = 503;
  const service = await trusting(t, (_req, res) => res.writeHead(status).end(OTHER_KEYS));
  await until('the line', () => service.lines.length > 0);
  assert.match(service.lines[0] ?? '', /^rdcp: security\.jwt\.jwksUri answers with status 503;/);
  assert.match(reasonOf(await service.health(), 'credentials') ?? '', /answers with status 503$/);
  status = 200;
  assert.equal(await service.ask(), 401);
  assert.deepEqual(service.lines.slice(1), [`rdcp: ${CONDITIONS.jwks.over}`]);
});

test('a token that is bad says nothing of its issuer', async (t) => {
  const service = await trusting(t, (_req, res) => res.end(OTHER_KEYS));
  assert.equal(await service.ask(), 401);
  assert.deepEqual(service.lines, []);
  assert.equal((await service.health()).status, 'healthy');
});

inFull(
  'a Redis that is not there at the start is reported, and so is its return',
  { skip: whyNoRedis() },
  async (t) => {
    const redis = await startRedis();
    t.after(() => redis.close());
    await redis.kill();
    const service = await start(t, { security: { apiKeys }, store: redis.url });
    await until('the line', () => service.lines.length > 0);
    assert.equal(service.lines[0], `rdcp: the store cannot be reached (ECONNREFUSED); ${CONDITIONS.store.meanwhile}`);
    const sick = await service.health();
    assert.equal(sick.status, 'degraded');
    assert.match(reasonOf(sick, 'store') ?? '', /^the store cannot be reached/);
    // Meanwhile it tries again several times.
    await sleep(2500);
    assert.equal(service.lines.length, 1, service.lines.join('\n'));

    await redis.start();
    await until('the end', () => service.lines.length > 1);
    assert.equal(service.lines[1], `rdcp: ${CONDITIONS.store.over}`);
    await untilHealth(service, 'healthy');
  },
);

async function control(url: string, action: ControlRequest['action'], options?: object): Promise<void> {
  const { status } = await fetch(`${url}${PATHS.control}`, {
    method: 'POST',
    headers: { 'x-rdcp-api-key': KEY, 'content-type': 'application/json' },
    body: JSON.stringify({ action, categories: ['ANNOUNCED'], options }),
  });
  assert.equal(status, 200);
}

for (const [announce, expected] of [
  [undefined, ['rdcp: ANNOUNCED on for 5m by ops: slow checkout']],
  [false, []],
] as const) {
  test(`what is switched over HTTP is ${announce === false ? 'not ' : ''}said with announce ${announce}`, async (t) => {
    const service = await start(t, {
      security: { apiKeys },
      categories: { ANNOUNCED: {} },
      ...(announce !== undefined && { announce }),
    });
    await control(service.url, 'enable', { duration: '5m', reason: 'slow checkout' });
    assert.deepEqual(service.lines, expected);
  });
}
