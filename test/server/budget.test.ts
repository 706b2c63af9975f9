import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { runWithTenant } from '../../src/api.ts';
import { createRdcpClient } from '../../src/client.ts';
import type { DebugRecord } from '../../src/index.ts';
import { createRdcp, type RdcpConfig } from '../../src/index.ts';
import { makeKey } from '../auth/records.ts';
import { rdcp as command } from '../cli/run.ts';
import { until } from '../support/until.ts';

async function service(t: TestContext, name: string, config: RdcpConfig = {}) {
  const operator = makeKey({ id: 'operator', scopes: ['discovery', 'control'] });
  const admin = makeKey({ id: 'admin', scopes: ['admin'] });
  const records: DebugRecord[] = [];
  const messages: string[] = [];
  const say = (message: string) => void messages.push(message);
  const rdcp = createRdcp({
    server: { port: 0 },
    security: { apiKeys: [operator.record, admin.record] },
    emit: { to: (record) => void records.push(record) },
    logger: { info: say, warn: say, error: say },
    ...config,
  });
  t.after(() => rdcp.close());
  const category = rdcp.category(name);
  const { url } = await rdcp.listen();
  const clientOf = (apiKey: string) => createRdcpClient({ baseUrl: url, apiKey });
  const discovered = async () => {
    const { categories } = await clientOf(operator.key).discovery();
    return categories.find((each) => each.name === name)!;
  };
  const call = (times: number) => {
    for (let at = 0; at < times; at++) category.debug('m');
  };
  const emitted = () => records.filter(({ severity, category: of }) => severity === 'DEBUG' && of === name).length;
  return {
    ...{ rdcp, url, category, records, messages, discovered, call, emitted, name },
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
  assert.ok(it.messages.includes(`rdcp: ${it.name} off again, the budget is used up`), it.messages.join('\n'));
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

test('a control whose bytes are used up ends as well', async (t) => {
  const it = await service(t, 'BUDGET_BYTES');
  await it.operator.enable(it.name, { otelrdcp_budget: { bytes: 2000 } });
  assert.equal((await it.discovered()).temporary, true, 'a budget makes a control temporary');
  for (let at = 0; at < 100; at++) it.category.debug('m', { text: 'x'.repeat(180) });
  assert.ok(it.emitted() >= 8 && it.emitted() <= 10, `${it.emitted()}`);
  await sleep(0);
  assert.equal(it.category.enabled, false);
});

test('a control ends by its budget in every process that shares the store, with one entry', async (t) => {
  const store = `sqlite:${mkdtempSync(join(tmpdir(), 'rdcp-budget-'))}/state.sqlite`;
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

test('a repeated request id with another budget is another request', async (t) => {
  const it = await service(t, 'BUDGET_REPEAT');
  const enable = (calls: number) =>
    it.operator.control(
      { action: 'enable', categories: it.name, options: { otelrdcp_budget: { calls } } },
      { requestId: 'one' },
    );
  await enable(5);
  await enable(5);
  await assert.rejects(enable(6), { code: 'RDCP_REQUEST_ID_REUSED' });
});

test('the command sets a budget, and lists it with what was dropped', async (t) => {
  const it = await service(t, 'BUDGET_CLI');
  const run = (...args: string[]) => command([...args, '--url', it.url], { env: { RDCP_API_KEY: it.keys.operator } });
  const { code } = await run('enable', it.name, '--for', '5m', '--rate', '3', '--calls', '100');
  assert.equal(code, 0);
  it.call(20);
  const { stdout } = await run('list');
  assert.match(stdout, /CALLS\/S +BUDGET +DROPPED/);
  assert.match(stdout, /BUDGET_CLI +on +5m.* 3\/s, 94 calls left +14/);
  assert.match(
    (await run('enable', it.name, '--unlimited', '--rate', '3')).stderr,
    /--unlimited cannot be combined with --rate/,
  );
  assert.match((await run('enable', it.name, '--rate', '0')).stderr, /--rate must be a whole number from 1/);
  assert.match((await run('enable', it.name, '--unlimited')).stderr, /admin/);
});
