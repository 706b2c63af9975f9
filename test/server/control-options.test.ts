import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { runWithTenant } from '../../src/api.ts';
import { createRdcpClient } from '../../src/client.ts';
import type { DebugRecord, RdcpConfig } from '../../src/index.ts';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import { PATHS } from '../../src/wire/constants.ts';
import { unwritten } from '../../src/wire/errors.ts';
import type { ControlResponse, DiscoveryResponse, ErrorResponse, StatusResponse } from '../../src/wire/messages.ts';
import { makeKey } from '../auth/records.ts';
import { rdcp as command } from '../cli/run.ts';
import { newStore } from '../support/folder.ts';
import { send, startServer, type TestRequest, type TestServer } from '../support/server.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';

async function service(t: TestContext, name: string, config: RdcpConfig = {}) {
  const operator = makeKey({ id: 'operator', scopes: ['discovery', 'control'] });
  const admin = makeKey({ id: 'admin', scopes: ['admin'] });
  const security = { apiKeys: [operator.record, admin.record] };
  const { rdcp, url, lines, records, clientOf } = await startService(t, { security, ...config });
  const category = rdcp.category(name);
  const discovered = async () => {
    const { categories } = await clientOf(operator.key).discovery();
    return categories.find((each) => each.name === name)!;
  };
  const call = (times: number) => {
    for (let at = 0; at < times; at++) category.debug('m');
  };
  const emitted = () => records.filter(({ severity, category: of }) => severity === 'DEBUG' && of === name).length;
  return {
    ...{ rdcp, url, category, records, lines, discovered, call, emitted, name },
    operator: clientOf(operator.key),
    admin: clientOf(admin.key),
    keys: { operator: operator.key, admin: admin.key },
  };
}

test('a control whose calls are used up ends at once, says so, and has an entry whose reason is budget', async (t) => {
  const it = await service(t, 'BUDGET_CALLS');
  await it.operator.enable(it.name, { duration: '5m', otelrdcp_budget: { calls: 5 } });
  assert.equal(
    (await it.discovered()).otelrdcp_budget &&
      ((await it.discovered()).otelrdcp_budget as { callsLeft?: number }).callsLeft,
    5,
  );
  it.call(20);
  assert.equal(it.emitted(), 5);
  await Promise.resolve();
  assert.equal(it.category.enabled, false);
  const { enabled, temporary, otelrdcp_budget, otelrdcp_dropped } = await it.discovered();
  assert.deepEqual([enabled, temporary, otelrdcp_budget], [false, false, undefined]);
  assert.equal(otelrdcp_dropped, 15, 'what was dropped shows after the end');
  const listed = await command(['list', '--url', it.url], { env: { RDCP_API_KEY: it.keys.operator } });
  assert.match(listed.stdout, /DROPPED.*\nBUDGET_CALLS +off +- +20 +- +- +15/s);
  const [expiry, enabling] = (await it.admin.audit()).entries;
  assert.deepEqual([expiry?.action, expiry?.reason, expiry?.categories], ['expire', 'budget', [it.name]]);
  assert.deepEqual([enabling?.action, enabling?.otelrdcp_budget], ['enable', { calls: 5 }]);
  assert.ok(it.lines.includes(`rdcp: ${it.name} off again, the budget is used up`), it.lines.join('\n'));
  await it.operator.enable(it.name, { duration: '5m', otelrdcp_budget: { calls: 3 } });
  it.call(20);
  assert.equal(it.emitted(), 8, 'a new control has a new budget');
});

test('a toggle with a budget that switches a category off switches it off for good, as without one', async (t) => {
  const it = await service(t, 'BUDGET_TOGGLED');
  const options = { otelrdcp_budget: { calls: 5 } };
  const on = await it.operator.toggle(it.name, options);
  assert.deepEqual([on.changes[0]?.newState, on.changes[0]?.temporary], [true, true]);
  const off = await it.operator.toggle(it.name, options);
  assert.deepEqual([off.changes[0]?.newState, off.changes[0]?.temporary], [false, false]);
});

test('a control ends by its budget in every process that shares the store, with one entry', async (t) => {
  const store = newStore(t);
  const one = await service(t, 'BUDGET_FLEET', { store });
  // The gate is one in a process, so the other control plane is asked alone.
  const other = await service(t, 'BUDGET_FLEET', { store });
  await one.operator.enable(one.name, { duration: '5m', otelrdcp_budget: { calls: 2 } });
  await until('the other process has followed', async () => (await other.discovered()).temporary);
  other.call(3);
  await until('the first process has followed', async () => !(await one.discovered()).temporary);
  const entries = (await one.admin.audit()).entries.filter(({ action }) => action === 'expire');
  assert.deepEqual(
    entries.map(({ reason }) => reason),
    ['budget'],
  );
});

test("a tenant's control ends by its budget for that tenant alone", async (t) => {
  const it = await service(t, 'BUDGET_TENANT', { tenancy: { isolation: 'organization' } });
  const records: DebugRecord[] = it.records;
  const ofTenant = (tenant: string) => createRdcpClient({ baseUrl: it.url, apiKey: it.keys.admin, tenantId: tenant });
  for (const tenant of ['acme', 'beta']) {
    await ofTenant(tenant).enable(it.name, { duration: '5m', otelrdcp_budget: { calls: tenant === 'acme' ? 3 : 100 } });
  }
  for (const tenant of ['acme', 'beta']) runWithTenant(tenant, () => it.call(10));
  await sleep(0);
  assert.deepEqual(
    ['acme', 'beta'].map((tenant) => records.filter((record) => record.tenant === tenant).length),
    [3, 10],
  );
  assert.deepEqual(
    ['acme', 'beta'].map((tenant) => runWithTenant(tenant, () => it.category.enabled)),
    [false, true],
  );
  const expiries = async (tenant: string) =>
    (await ofTenant(tenant).audit()).entries.filter(({ action }) => action === 'expire').map(({ reason }) => reason);
  assert.deepEqual([await expiries('acme'), await expiries('beta')], [['budget'], []]);
});

test('a lower rate needs control, a higher one or none at all needs admin', async (t) => {
  const it = await service(t, 'BUDGET_RATE', { controls: { budget: { callsPerSecond: 10 } } });
  await it.operator.enable(it.name, { duration: 60, otelrdcp_budget: { callsPerSecond: 2 } });
  it.call(100);
  assert.equal(it.emitted(), 4);
  assert.deepEqual((await it.discovered()).otelrdcp_budget, { callsPerSecond: 2, burst: 4, callsLeftNow: 0 });
  assert.equal((await it.discovered()).otelrdcp_dropped, 96);
  for (const otelrdcp_budget of [{ callsPerSecond: 11 }, false] as const) {
    await assert.rejects(it.operator.enable(it.name, { duration: 60, otelrdcp_budget }), { code: 'RDCP_FORBIDDEN' });
    await it.admin.enable(it.name, { duration: 60, otelrdcp_budget });
  }
  assert.equal((await it.discovered()).otelrdcp_budget, false);
  it.call(100);
  assert.equal(it.emitted(), 104);
  await it.operator.reset(it.name);
  await it.operator.enable(it.name);
  assert.equal(((await it.discovered()).otelrdcp_budget as { callsPerSecond: number }).callsPerSecond, 10);
});

test('a budget of a control that makes no sense is refused, and names the field', async (t) => {
  const it = await service(t, 'BUDGET_BAD');
  const refused = async (action: 'enable' | 'disable' | 'reset', options: object, field: RegExp) => {
    await assert.rejects(
      it.admin.control({ action, categories: it.name, options }),
      (error: { code: string; details: { field: string } }) =>
        error.code === 'RDCP_MALFORMED_REQUEST' && field.test(error.details.field),
    );
  };
  const place = /^options\.otelrdcp_budget/;
  for (const otelrdcp_budget of [
    {},
    true,
    5,
    { calls: 0 },
    { calls: 1e12 },
    { bytes: -1 },
    { callsPerSecond: 0.5 },
    { call: 5 },
  ]) {
    await refused('enable', { otelrdcp_budget }, place);
  }
  await refused('enable', { temporary: false, otelrdcp_budget: { calls: 5 } }, place);
  await refused('disable', { otelrdcp_budget: { calls: 5 } }, place);
  await refused('reset', { otelrdcp_budget: false }, place);
});

test('a level is in the answer, in discovery, status and the trail, and what is wrong with one is said', async (t) => {
  const { rdcp, url } = await startService(t);
  rdcp.category('LEVELED');
  const request = async <Body>(path: string, options: TestRequest = {}) =>
    (await send<Body>(url + path, { key: 'admin', ...options })).body;
  const control = <Body = ControlResponse>(action: string, options: object) =>
    request<Body>(PATHS.control, { method: 'POST', body: { action, categories: 'LEVELED', options } });

  const answer = await control('enable', { otelrdcp_level: 'warn', duration: '1m' });
  assert.equal(answer.changes[0]?.otelrdcp_level, 'warn');
  const { categories } = await request<DiscoveryResponse>(PATHS.discovery);
  const found = categories.find(({ name }) => name === 'LEVELED');
  assert.deepEqual([found?.enabled, found?.temporary, found?.otelrdcp_level], [true, true, 'warn']);
  assert.deepEqual((await request<StatusResponse>(PATHS.status)).otelrdcp_levels, { LEVELED: 'warn' });
  const { entries } = await request<AuditResponse>(`${PATHS.audit}?category=LEVELED`);
  assert.equal(entries[0]?.otelrdcp_level, 'warn');

  const part = await control('enable', { otelrdcp_level: 'info', otelrdcp_filter: { text: 'a*' } });
  assert.equal(part.otelrdcp_activation?.level, 'info');

  const { error } = await control<ErrorResponse>('enable', { otelrdcp_level: 'fatal' });
  assert.equal(error.details?.field, 'options.otelrdcp_level');

  await control('reset', {});
  assert.equal((await request<StatusResponse>(PATHS.status)).otelrdcp_levels, undefined);
});

const request = (options: object, more: Partial<TestRequest> = {}): TestRequest => ({
  method: 'POST',
  key: 'operator',
  body: { action: 'enable', categories: ['DATABASE', 'HTTP'], options: { otelrdcp_dryRun: true, ...options } },
  ...more,
});

async function traces(server: TestServer) {
  const { body } = await server.request<AuditResponse>(PATHS.audit, { key: 'admin' });
  const discovery = await server.request<DiscoveryResponse>(PATHS.discovery, { key: 'operator' });
  const found = discovery.body.categories.find(({ name }) => name === 'DATABASE');
  return {
    entries: body.entries.length,
    state: [found?.enabled, found?.temporary],
    temporary: server.plane.temporaryControls(),
    gate: server.gate.category('DATABASE').enabled,
    counted: server.controlRequests.length,
  };
}

test('a dry run answers what would change, and leaves no trace', async (t) => {
  const server = await startServer(t);
  const before = await traces(server);
  const { status, body } = await server.request<ControlResponse>(PATHS.control, request({ duration: '15m' }));
  assert.equal(status, 200);
  assert.equal(body.status, 'success');
  assert.equal(body.otelrdcp_dryRun, true);
  assert.match(body.message, /dry run: nothing was changed/);
  assert.deepEqual(
    body.changes.map(({ category, previousState, newState, temporary }) => [
      category,
      previousState,
      newState,
      temporary,
    ]),
    [
      ['DATABASE', false, true, true],
      ['HTTP', false, true, true],
    ],
  );
  const [change] = body.changes;
  assert.equal(Date.parse(change?.expiresAt ?? '') - Date.parse(change?.effectiveAt ?? ''), 15 * 60_000);
  assert.deepEqual(await traces(server), before);
});

test('a dry run is refused like the change itself, without an entry', async (t) => {
  const server = await startServer(t);
  const before = await traces(server);
  const unknown = request(
    {},
    { body: { action: 'enable', categories: ['NO_SUCH'], options: { otelrdcp_dryRun: true } } },
  );
  assert.equal((await server.request(PATHS.control, unknown)).body.error.code, 'RDCP_CATEGORY_NOT_FOUND');
  assert.equal((await server.request(PATHS.control, request({ duration: '99d' }))).status, 400);
  assert.equal((await server.request(PATHS.control, request({ otelrdcp_dryRun: 'yes' }))).status, 400);
  assert.equal((await traces(server)).entries, before.entries);
  assert.equal((await server.request(PATHS.control, request({}, { key: 'status' }))).status, 403);
});

test('the request id of a dry run is free for the change itself', async (t) => {
  const server = await startServer(t);
  const headers = { 'X-RDCP-Request-ID': 'rehearsed' };
  for (const dryRun of [true, true, false]) {
    const { status, headers: sent } = await server.request<ControlResponse>(
      PATHS.control,
      request({ otelrdcp_dryRun: dryRun }, { headers }),
    );
    assert.deepEqual([status, sent.get('x-rdcp-replayed')], [200, null]);
  }
  assert.equal(server.gate.category('DATABASE').enabled, true);
});

test('while the store cannot be reached a dry run changes nothing in this process either', async (t) => {
  const server = await startServer(t, {
    store: { ...createMemoryStore(), commit: () => Promise.reject(unwritten(new Error('gone'))) },
  });
  await server.request(PATHS.control, request({ otelrdcp_dryRun: false, duration: '1m' }));
  const gate = () => server.gate.category('X-CUSTOM').enabled;
  const body = { action: 'enable', categories: ['X-CUSTOM'], options: { duration: '1m', otelrdcp_dryRun: true } };
  assert.equal((await server.request(PATHS.control, request({}, { body }))).status, 503);
  assert.equal(gate(), false);
});
