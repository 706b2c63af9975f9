import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createRdcp } from '../../src/assembly/rdcp.ts';
import type { ApiKeyRecord, RdcpConfig } from '../../src/options/options.ts';
import { createRdcpClient } from '../../src/tools/client/client.ts';
import type { Allow } from '../../src/wire/allow.ts';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import { CONSOLE_PATHS, PATHS } from '../../src/wire/constants.ts';
import { isRdcpError } from '../../src/wire/errors.ts';
import type { ErrorResponse, SessionResponse } from '../../src/wire/messages.ts';
import type { TailLine } from '../../src/wire/streams.ts';
import { makeKey } from '../auth/records.ts';
import { send, type TestRequest } from '../support/server.ts';
import { startService } from '../support/service.ts';
import { ACCESS_TOKEN, askToken, bearer, refresh, TOKEN_EXCHANGE, tokenSettings } from './tokens.ts';

const NAMES = ['DB_POOL', 'DB_QUERY', 'HTTP'] as const;
const AGENT_SCOPES = ['discovery', 'status', 'control', 'tail', 'alerts'] as const;

/** A service, a key that may do little, and one that may do all. */
async function start(t: TestContext, allow: Allow, record: Partial<ApiKeyRecord> = {}, config: RdcpConfig = {}) {
  const agent = makeKey({ id: 'agent', clientId: 'agent', scopes: AGENT_SCOPES, allow, ...record });
  const owner = makeKey({ id: 'owner', clientId: 'owner', scopes: ['admin'] });
  const { rdcp, url } = await startService(t, {
    console: true,
    limits: { controlPerMinute: 10_000, readPerMinute: 10_000 },
    security: { apiKeys: [agent.record, owner.record], tokens: tokenSettings },
    ...config,
  });
  for (const name of NAMES) rdcp.category(name);
  const as =
    (key: string) =>
    <T = ErrorResponse>(path: string, { headers, ...request }: TestRequest = {}) =>
      send<T>(url + path, { ...request, headers: { 'X-RDCP-API-Key': key, ...headers } });
  return { rdcp, url, agent: as(agent.key), owner: as(owner.key), keys: { agent: agent.key, owner: owner.key } };
}

const post = (body: object): TestRequest => ({ method: 'POST', body });

const DB: Allow = { categories: ['DB_*'], maxDuration: '15m' };

test('a key that may only DB_* for 15 minutes, at every endpoint', async (t) => {
  const alerts = [
    { name: 'pool', match: { alertname: 'Slow' }, enable: ['DB_POOL'], for: '15m' },
    { name: 'longer', match: { alertname: 'Slow' }, enable: ['DB_QUERY'], for: '16m' },
    { name: 'others', match: { alertname: 'Slow' }, enable: ['HTTP'], for: '1m' },
  ];
  const { agent, owner, rdcp, keys, url } = await start(t, DB, {}, { alerts, tail: { rate: 5 } });

  // What it reads is not narrowed.
  const readable = {
    [PATHS.wellKnown]: 200,
    [PATHS.discovery]: 200,
    [PATHS.status]: 200,
    [PATHS.health]: 200,
    [PATHS.metrics]: 200,
    [PATHS.session]: 200,
    [PATHS.openapi]: 200,
    [PATHS.fleet]: 404,
    [PATHS.tenants]: 403,
    [PATHS.audit]: 403,
    [PATHS.notifications]: 403,
    [PATHS.approvals]: 403,
  };
  for (const [path, status] of Object.entries(readable)) assert.equal((await agent(path)).status, status, path);
  assert.equal((await agent(PATHS.approve, post({ id: '0123456789ab' }))).status, 403);
  assert.equal((await agent(CONSOLE_PATHS.code, { method: 'POST', body: {} })).status, 200);
  const { body: seen } = await agent<SessionResponse>(PATHS.session);
  assert.deepEqual([seen.otelrdcp_allow, seen.otelrdcp_approval], [DB, undefined]);
  assert.equal((await owner<SessionResponse>(PATHS.session)).body.otelrdcp_allow, undefined);

  // What it may switch: test/control/allow.test.ts has every action and time.
  const enable = (category: string, duration: string) =>
    agent(PATHS.control, post({ action: 'enable', categories: category, options: { duration } }));
  assert.equal((await enable('DB_POOL', '15m')).status, 200);
  for (const answer of [await enable('DB_POOL', '16m'), await enable('HTTP', '1m')]) {
    const { code, details, method } = answer.body.error;
    assert.deepEqual([answer.status, code, method], [403, 'RDCP_FORBIDDEN', 'api-key'], answer.text);
    assert.deepEqual([details?.reason, details?.allow], ['not_allowed', DB]);
  }
  assert.equal(rdcp.category('HTTP').enabled, false);
  const every = await agent(PATHS.control, post({ action: 'reset' }));
  assert.equal(every.status, 403, every.text);

  // Tails, forecasts.
  const read = async (path: string, category: string, duration: string) =>
    (await agent(`${path}?categories=${category}&duration=${duration}`, { method: 'HEAD' })).status;
  assert.deepEqual([await read(PATHS.tail, 'DB_POOL', '15m'), await read(PATHS.tail, 'DB_POOL', '16m')], [200, 403]);
  assert.equal(await read(PATHS.tail, 'DB_POOL,HTTP', '1m'), 403);
  assert.equal((await agent(PATHS.tail, post({ categories: ['HTTP'] }))).status, 403);
  assert.equal((await agent(PATHS.forecast, post({ categories: ['HTTP'], duration: 1 }))).status, 403);
  assert.equal((await agent(PATHS.forecast, post({ categories: ['DB_POOL'], duration: 1 }))).status, 200);

  // Alerts: of the rules, those that are within it.
  const alert = {
    status: 'firing',
    labels: { alertname: 'Slow' },
    startsAt: new Date().toISOString(),
    fingerprint: 'a',
  };
  const notification = { version: '4', groupKey: 'g', status: 'firing', alerts: [alert] };
  const { body, status } = await agent<{ matched: number; switched: { rule: string }[] }>(
    PATHS.alerts,
    post(notification),
  );
  assert.deepEqual([status, body.matched, body.switched.map(({ rule }) => rule)], [200, 1, ['pool']]);

  // Its tokens are no way around it.
  const service: Parameters<typeof askToken>[0] = { request: (path, request) => send(url + path, request) };
  const subject = { subject_token: keys.agent, subject_token_type: ACCESS_TOKEN };
  const { body: granted } = await askToken(service, { grant_type: TOKEN_EXCHANGE, ...subject });
  const { body: refreshed } = await refresh(service, granted.refresh_token);
  for (const token of [granted.access_token, refreshed.access_token]) {
    const headers = bearer(token);
    const { body } = await send<SessionResponse>(url + PATHS.session, { headers });
    assert.deepEqual(body.otelrdcp_allow, DB);
    const answer = await send(url + PATHS.control, { ...post({ action: 'enable', categories: 'HTTP' }), headers });
    assert.equal(answer.status, 403);
  }
  const { body: trail } = await owner<AuditResponse>(`${PATHS.audit}?outcome=denied`);
  assert.ok(trail.entries.some(({ action, error }) => action === 'authorize' && error === 'RDCP_FORBIDDEN'));
});

test('a tail that is redacted shows messages and names, and no value', async (t) => {
  const { rdcp, url, keys } = await start(t, { categories: ['DB_*'], maxDuration: '1m', tail: 'redacted' });
  const category = rdcp.category('DB_POOL');
  const lines: TailLine[] = [];
  const client = createRdcpClient({ baseUrl: url, apiKey: keys.agent });
  for await (const event of client.tail('DB_POOL', { lines: 2 })) {
    if (event.event === 'start') {
      assert.ok(Date.parse(event.data.expiresAt) <= Date.now() + 60_000, 'its longest time');
      category.debug('order', { customer: 'ann', nested: { email: 'ann@example' }, rows: 3 });
      category.debug('none');
    }
    if (event.event === 'line') lines.push(event.data);
  }
  const hidden = '[redacted]';
  assert.deepEqual(
    lines.map(({ message, attributes }) => [message, attributes]),
    [
      ['order', { customer: hidden, nested: hidden, rows: hidden }],
      ['none', {}],
    ],
  );
  await assert.rejects(
    async () => {
      for await (const _ of client.tail('DB_POOL', { filter: { where: 'customer == "ann"' } }));
    },
    (error) => isRdcpError(error) && error.details?.field === 'filter.where',
  );
});

test('a service without tenants refuses a key that allows some', async () => {
  const { record } = makeKey({ allow: { categories: ['*'], tenants: ['acme'] } });
  assert.throws(
    () => createRdcp({ server: { port: 0 }, security: { apiKeys: [record] } }),
    (error) => isRdcpError(error) && error.details?.field === 'security.apiKeys.0.allow.tenants',
  );
});
