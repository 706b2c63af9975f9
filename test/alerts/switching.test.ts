import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { hashApiKey } from '../../src/access/api-key.ts';
import type { RdcpConfig } from '../../src/options/options.ts';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import type { AlertsResponse } from '../../src/wire/alert-notification.ts';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import { PATHS } from '../../src/wire/constants.ts';
import type { DiscoveryResponse } from '../../src/wire/messages.ts';
import fc from '../support/fast-check.ts';
import { newFolder } from '../support/folder.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { virtualTime } from '../support/virtual-time.ts';
import { notification, type TestAlert } from './notifications.ts';

const MINUTE = 60_000;
const RULE = { name: 'errors', match: { alertname: 'HighErrorRate' }, enable: ['DATABASE'], for: '15m' };

async function startRuled(t: TestContext, alerts: RdcpConfig['alerts'] = [RULE], config: RdcpConfig = {}) {
  const time = virtualTime();
  const server = await startServer(t, { clock: time.clock, config: { alerts, ...config } });
  return { ...driven(server), time };
}

function driven(server: TestServer) {
  const notify = async (alerts: readonly TestAlert[], changes?: object): Promise<AlertsResponse> => {
    const body = notification(alerts, changes);
    const answer = await server.request<AlertsResponse>(PATHS.alerts, { method: 'POST', key: 'alerts', body });
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  };
  const activations = async (name = 'DATABASE') => {
    const { body } = await server.request<DiscoveryResponse>(PATHS.discovery, { key: 'admin' });
    return body.categories.find((category) => category.name === name)?.otelrdcp_activations ?? [];
  };
  const trail = async () => {
    const { body } = await server.request<AuditResponse>(`${PATHS.audit}?client=alert.errors`, { key: 'admin' });
    return [...body.entries].reverse();
  };
  return { server, notify, activations, trail };
}

/** Processes that share a SQLite file. */
function sharing(t: TestContext) {
  const folder = newFolder(t);
  const time = virtualTime();
  const start = async () => {
    const store = createSqliteStore(join(folder, 'state.sqlite'));
    return driven(await startServer(t, { clock: time.clock, store, config: { alerts: [RULE] } }));
  };
  return { start, time };
}

test('an alert that fires switches its categories on, and one that is resolved ends that', async (t) => {
  const { notify, activations, trail, time } = await startRuled(t);
  const startsAt = time.clock.now();
  const { matched, switched } = await notify([{ startsAt }]);
  assert.equal(matched, 1);
  const [control] = switched;
  assert.equal(control?.rule, 'errors');
  assert.equal(Date.parse(control?.expiresAt ?? ''), time.clock.now() + 15 * MINUTE);
  assert.deepEqual(
    (await activations()).map(({ id, reason, by }) => [id, reason, by?.userId]),
    [[control?.controlId, 'c6eadffa33fcdf37 alertname=HighErrorRate job=shop', 'alert:errors']],
  );
  await time.pass(MINUTE);
  assert.deepEqual(await notify([{ startsAt, status: 'resolved' }]).then((answer) => answer.switched), []);
  assert.deepEqual(await activations(), []);
  assert.deepEqual(
    (await trail()).map(({ action, reason, outcome, otelrdcp_activation }) => [
      action,
      reason,
      outcome,
      otelrdcp_activation?.id,
    ]),
    [
      ['enable', 'c6eadffa33fcdf37 alertname=HighErrorRate job=shop', 'success', control?.controlId],
      ['reset', 'resolved: c6eadffa33fcdf37 alertname=HighErrorRate job=shop', 'success', control?.controlId],
    ],
  );
});

test('repeated notifications extend nothing, however long the alert fires', async (t) => {
  const { notify, activations, trail, time } = await startRuled(t);
  const startsAt = time.clock.now();
  const first = await notify([{ startsAt }]);
  await time.pass(5 * MINUTE);
  assert.deepEqual((await notify([{ startsAt }])).switched, first.switched);
  for (const _ of Array.from({ length: 40 })) {
    await time.pass(10 * MINUTE);
    const { matched, switched } = await notify([{ startsAt }]);
    assert.deepEqual([matched, switched], [1, []]);
    assert.deepEqual(await activations(), []);
  }
  assert.equal((await trail()).length, 1);
});

test('alerts of a group that come and go while others fire are one firing', async (t) => {
  const { notify, trail, time } = await startRuled(t);
  const a = { startsAt: time.clock.now(), labels: { instance: 'a' } };
  await notify([a]);
  await time.pass(5 * MINUTE);
  const b = { startsAt: time.clock.now(), labels: { instance: 'b' } };
  await notify([a, b]);
  await time.pass(5 * MINUTE);
  const { switched } = await notify([{ ...a, status: 'resolved' }, b]);
  assert.equal(switched.length, 1);
  await time.pass(10 * MINUTE);
  await notify([b]);
  assert.equal((await trail()).length, 1);
  await notify([{ ...b, status: 'resolved' }]);
  assert.deepEqual(
    (await trail()).map(({ action }) => action),
    ['enable', 'reset'],
  );
});

test('after an end an alert that fires again waits for the cooldown', async (t) => {
  const { notify, activations, time } = await startRuled(t);
  const startsAt = time.clock.now();
  await notify([{ startsAt }]);
  await notify([{ startsAt, status: 'resolved' }]);
  await time.pass(9 * MINUTE);
  const again = time.clock.now();
  assert.deepEqual((await notify([{ startsAt: again }])).switched, []);
  await time.pass(MINUTE);
  assert.equal((await notify([{ startsAt: again }])).switched.length, 1);
  assert.equal((await activations()).length, 1);
});

test('a flapping alert has its categories on no longer than the rule and its cooldown allow', async (t) => {
  const step = fc.record({ wait: fc.integer({ min: 1, max: 40 }), firing: fc.boolean(), keepsStart: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 30 }), async (steps) => {
      const { notify, trail, time, server } = await startRuled(t);
      let startsAt = time.clock.now();
      for (const { wait, firing, keepsStart } of steps) {
        await time.pass(wait * MINUTE);
        if (!keepsStart) startsAt = time.clock.now();
        await notify([{ startsAt, status: firing ? 'firing' : 'resolved' }]);
      }
      const entries = await trail();
      for (const [index, { action, timestamp }] of entries.entries()) {
        if (action !== 'enable') continue;
        const next = entries.slice(index + 1).find((entry) => entry.action === 'enable');
        const ended = entries.slice(index + 1).find((entry) => entry.action === 'reset');
        if (next === undefined) break;
        const end = Math.min(
          Date.parse(timestamp) + 15 * MINUTE,
          ended === undefined ? Number.POSITIVE_INFINITY : Date.parse(ended.timestamp),
        );
        assert.ok(Date.parse(next.timestamp) >= end + 10 * MINUTE, JSON.stringify(entries));
      }
      await server.close();
    }),
    { numRuns: 25 },
  );
});

test('an operator’s control is neither shortened nor ended by an alert', async (t) => {
  const { server, notify, time } = await startRuled(t);
  const options = { duration: '1h', reason: 'a person' };
  const body = { action: 'enable', categories: ['DATABASE'], options };
  await server.request(PATHS.control, { method: 'POST', key: 'control', body });
  const startsAt = time.clock.now();
  await notify([{ startsAt }]);
  await notify([{ startsAt, status: 'resolved' }]);
  const [category] = server.plane.view({ key: '*' }).filter(({ name }) => name === 'DATABASE');
  assert.equal(category?.enabled, true);
  assert.equal(category?.expiresAt, time.clock.now() + 60 * MINUTE);
});

test('what an operator ended stays off while the alert fires', async (t) => {
  const { server, notify, activations, time } = await startRuled(t);
  const startsAt = time.clock.now();
  await notify([{ startsAt }]);
  const body = { action: 'reset', categories: ['DATABASE'] };
  await server.request(PATHS.control, { method: 'POST', key: 'control', body });
  await time.pass(MINUTE);
  await notify([{ startsAt }]);
  assert.deepEqual(await activations(), []);
});

test('two processes that share a store switch once, and either of them ends it', async (t) => {
  const { start, time } = sharing(t);
  const [one, other] = [await start(), await start()];
  const startsAt = time.clock.now();
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? one : other).notify([{ startsAt }])),
  );
  const ids = answers.flatMap(({ switched }) => switched.map(({ controlId }) => controlId));
  assert.equal(ids.length, 10);
  assert.equal(new Set(ids).size, 1);
  const resolved = [{ startsAt, status: 'resolved' as const }];
  await Promise.all([other.notify(resolved), one.notify(resolved)]);
  assert.deepEqual(
    (await one.trail()).map(({ action }) => action),
    ['enable', 'reset'],
  );
  assert.deepEqual((await other.notify([{ startsAt: startsAt + 1 }])).switched, []);
});

test('a process that was restarted knows what was switched before', async (t) => {
  const { start, time } = sharing(t);
  const startsAt = time.clock.now();
  await (await start()).notify([{ startsAt }]);
  await time.pass(60 * MINUTE);
  const restarted = await start();
  assert.deepEqual((await restarted.notify([{ startsAt }])).switched, []);
  assert.equal((await restarted.trail()).filter(({ action }) => action === 'enable').length, 1);
});

test('groups of one rule are switched and ended each for itself', async (t) => {
  const { notify, activations, time } = await startRuled(t);
  const startsAt = time.clock.now();
  await notify([{ startsAt }], { groupKey: 'a' });
  await notify([{ startsAt }], { groupKey: 'b' });
  assert.equal((await activations()).length, 2);
  await notify([{ startsAt, status: 'resolved' }], { groupKey: 'a' });
  assert.equal((await activations()).length, 1);
});

test('labels are matched exactly, or by what they begin with', async (t) => {
  const { notify, time } = await startRuled(t, [
    { ...RULE, name: 'exact', match: { alertname: 'HighErrorRate', instance: 'shop-1' } },
    { ...RULE, name: 'prefix', match: { instance: 'shop-*' } },
    { ...RULE, name: 'absent', match: { team: '*' } },
    { ...RULE, name: 'inherited', match: { toString: '*' } },
  ]);
  const rules = async (instance: string, groupKey: string) => {
    const { matched, switched } = await notify([{ startsAt: time.clock.now(), labels: { instance } }], { groupKey });
    assert.equal(matched, switched.length);
    return switched.map(({ rule }) => rule);
  };
  assert.deepEqual(await rules('shop-1', 'a'), ['exact', 'prefix']);
  assert.deepEqual(await rules('shop-12', 'b'), ['prefix']);
  assert.deepEqual(await rules('Shop-1', 'c'), []);
});

test('target, filter, condition and tenant of a rule are those of what it switches on', async (t) => {
  const target = { match: { 'http.route': '/orders' } };
  const { notify, activations, time } = await startRuled(
    t,
    [{ ...RULE, target, filter: { text: 'query*' }, when: { failed: true, slowerThan: '2s' }, tenant: 'acme' }],
    { tenancy: { isolation: 'organization' } },
  );
  await notify([{ startsAt: time.clock.now() }]);
  assert.deepEqual(
    (await activations()).map(({ target, filter, when, tenant }) => ({ target, filter, when, tenant })),
    [{ target, filter: { text: 'query*' }, when: { failed: true, slowerThan: '2s' }, tenant: 'acme' }],
  );
});

test('alerts that were cut off may be firing still, so nothing ends', async (t) => {
  const { notify, activations, time } = await startRuled(t);
  const startsAt = time.clock.now();
  await notify([{ startsAt }]);
  const rest = { truncatedAlerts: 3, status: 'firing' };
  assert.equal((await notify([{ startsAt, status: 'resolved' }], rest)).matched, 0);
  assert.equal((await activations()).length, 1);
});

test('a rule that cannot be carried out does not keep others from it, and is an entry of the trail', async (t) => {
  const { server, notify, time } = await startRuled(t, [
    { ...RULE, enable: ['NOT_THERE'] },
    { ...RULE, name: 'other' },
  ]);
  const { matched, switched } = await notify([{ startsAt: time.clock.now() }]);
  assert.deepEqual([matched, switched.map(({ rule }) => rule)], [2, ['other']]);
  const { body } = await server.request<AuditResponse>(`${PATHS.audit}?outcome=failed`, { key: 'admin' });
  assert.deepEqual(
    body.entries.map(({ error, identity }) => [error, identity.userId]),
    [['RDCP_CATEGORY_NOT_FOUND', 'alert:errors']],
  );
  assert.equal(server.reports.length, 1);
});

test('a notification that was late, because the endpoint was away, switches on for the whole time of the rule', async (t) => {
  const { notify, time } = await startRuled(t);
  const startsAt = time.clock.now();
  await time.pass(3 * 60 * MINUTE);
  const [control] = (await notify([{ startsAt }])).switched;
  assert.equal(Date.parse(control?.expiresAt ?? ''), time.clock.now() + 15 * MINUTE);
});

test('a credential of tenants triggers their rules alone', async (t) => {
  const rule = (name: string, tenant?: string) => ({ ...RULE, name, tenant });
  const secret = (id: string) => `${id}-secret-of-this-test`.padEnd(40, 'x');
  const record = (id: string, of: object) => ({
    id,
    clientId: id,
    hash: hashApiKey(secret(id)),
    scopes: ['alerts' as const],
    ...of,
  });
  const { server } = await startRuled(t, [rule('everybody'), rule('of-acme', 'acme'), rule('of-beta', 'beta')], {
    tenancy: { isolation: 'organization' },
    security: {
      apiKeys: [record('one', { tenantId: 'acme' }), record('some', { tenants: ['b*'] }), record('any', {})],
    },
  });
  const triggered = async (id: string) => {
    const headers = { 'X-RDCP-API-Key': secret(id) };
    const body = notification([{ startsAt: Date.now() }], { groupKey: id });
    const answer = await server.request<AlertsResponse>(PATHS.alerts, { method: 'POST', headers, body });
    return answer.body.switched.map((control) => control.rule);
  };
  assert.deepEqual(await triggered('one'), ['of-acme']);
  assert.deepEqual(await triggered('some'), ['of-beta']);
  assert.deepEqual(await triggered('any'), ['everybody', 'of-acme', 'of-beta']);
});
