import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { RdcpConfig } from '../../src/options/options.ts';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import type { AlertsResponse } from '../../src/wire/alert-notification.ts';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import { ALERTS_BOUNDS, PATHS } from '../../src/wire/constants.ts';
import fc from '../support/fast-check.ts';
import { KEYS, startServer, type TestRequest, withMembers } from '../support/server.ts';
import { until } from '../support/until.ts';
import { notification } from './notifications.ts';

const RULE = { name: 'errors', match: { alertname: 'HighErrorRate' }, enable: ['DATABASE'], for: '15m' };
const startsAt = Date.now();

async function startRuled(
  t: TestContext,
  options: Parameters<typeof startServer>[1] & { rules?: RdcpConfig['alerts'] } = {},
) {
  const server = await startServer(t, { ...options, config: { alerts: options.rules ?? [RULE], ...options.config } });
  const post = <T = AlertsResponse>(body: unknown, request: TestRequest = {}) =>
    server.request<T>(PATHS.alerts, { method: 'POST', key: 'alerts', body, ...request });
  const refusal = async (body: unknown) => {
    const answer = await server.request(PATHS.alerts, { method: 'POST', key: 'alerts', body });
    return [answer.status, answer.body.error.code, answer.body.error.details?.field];
  };
  const trail = async () => (await server.request<AuditResponse>(PATHS.audit, { key: 'admin' })).body.entries;
  return { server, post, refusal, trail };
}

test('a body that is no notification is refused by the name of its field, and changes nothing', async (t) => {
  const { refusal, trail } = await startRuled(t);
  const good = notification([{ startsAt }]);
  const cases: readonly (readonly [string, object])[] = [
    ['version', { version: '5' }],
    ['version', { version: undefined }],
    ['groupKey', { groupKey: undefined }],
    ['groupKey', { groupKey: '' }],
    ['status', { status: 'pending' }],
    ['alerts', { alerts: [] }],
    ['alerts', { alerts: undefined }],
    ['alerts.0.labels', { alerts: [{ status: 'firing', startsAt: '2026-01-01T00:00:00Z' }] }],
    ['alerts.0.startsAt', { alerts: [{ status: 'firing', labels: {}, startsAt: 'yesterday' }] }],
    ['alerts.0.labels.a', { alerts: [{ status: 'firing', labels: { a: 1 }, startsAt: '2026-01-01T00:00:00Z' }] }],
  ];
  for (const [field, changes] of cases) {
    assert.deepEqual(await refusal({ ...good, ...changes }), [400, 'RDCP_MALFORMED_REQUEST', field], field);
  }
  const text = JSON.stringify(good);
  assert.deepEqual((await refusal(text.slice(0, -10))).slice(0, 2), [400, 'RDCP_MALFORMED_REQUEST']);
  assert.deepEqual(await refusal([good]), [400, 'RDCP_MALFORMED_REQUEST', undefined]);
  assert.deepEqual(await trail(), []);
});

test('a thousand alerts at once switch once; a notification that is too large is refused', async (t) => {
  const { post, refusal, trail } = await startRuled(t);
  const alerts = Array.from({ length: 1000 }, (_, index) => ({
    startsAt: startsAt + index,
    labels: { instance: `10.0.${index >> 8}.${index & 255}:9100`, namespace: 'shop', severity: 'critical' },
  }));
  const { status, body } = await post(notification(alerts));
  assert.deepEqual([status, body.matched, body.switched.length], [200, 1, 1]);
  assert.equal((await trail()).length, 1);
  const labels = Object.fromEntries(Array.from({ length: 30_000 }, (_, index) => [`l${index}`, '']));
  const nested = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  for (const tooLarge of [
    notification([{ startsAt, labels }]),
    { ...notification([{ startsAt }]), commonAnnotations: { text: 'x'.repeat(ALERTS_BOUNDS.bytes) } },
  ]) {
    assert.deepEqual((await refusal(tooLarge)).slice(0, 2), [413, 'RDCP_REQUEST_TOO_LARGE']);
  }
  const deep = JSON.stringify(notification([{ startsAt }])).replace('{', `{"nested":${nested},`);
  assert.deepEqual((await refusal(deep)).slice(0, 2), [400, 'RDCP_MALFORMED_REQUEST']);
  assert.equal((await trail()).length, 1);
});

test('labels with anything in them become one bounded line of the trail', async (t) => {
  const { post, trail } = await startRuled(t);
  const odd = fc.string({ unit: 'binary', maxLength: 600 });
  const long = 'x'.repeat(100_000);
  const line = '\r\n2026-01-01T00:00:00Z rdcp: DATABASE off';
  let groups = 0;
  await fc.assert(
    fc.asyncProperty(fc.dictionary(odd, odd, { maxKeys: 20 }), async (labels) => {
      groups += 1;
      const body = notification([{ startsAt, labels: { ...labels, alertname: 'HighErrorRate' } }], {
        groupKey: `${groups}`,
      });
      assert.equal((await post(body)).status, 200);
      const [entry] = await trail();
      const reason = entry?.reason ?? '';
      assert.ok(reason.startsWith('c6eadffa33fcdf37 ') && reason.length <= 500, reason);
      assert.ok(reason.isWellFormed() && /^\P{Cc}*$/u.test(reason), reason);
    }),
    { numRuns: 50, examples: [[{ [long]: 'value' }], [{ name: long, other: line }], [{ constructor: 'x' }]] },
  );
});

test('a label that would be a prototype is refused, and changes nothing', async (t) => {
  const { server, refusal } = await startRuled(t);
  for (const job of ['shop', 'Läden']) {
    const text = JSON.stringify(notification([{ startsAt, labels: { job, NAME: 'polluted' } }]));
    const [status, code] = await refusal(text.replace('NAME', '__proto__'));
    assert.deepEqual([status, code], [400, 'RDCP_MALFORMED_REQUEST']);
  }
  assert.equal(server.plane.temporaryControls(), 0);
  assert.equal('polluted' in {}, false);
});

test('as many groups as come take the places of alerts in a category, and none of an operator', async (t) => {
  const { server, post } = await startRuled(t, { config: { controls: { maxTemporaryPerTenant: 16 } } });
  let switched = 0;
  for (let group = 0; group < 40; group++) {
    const { status, body } = await post(notification([{ startsAt }], { groupKey: `${group}` }));
    assert.equal(status, 200);
    switched += body.switched.length;
  }
  assert.equal(switched, 16);
  assert.equal(server.plane.temporaryControls(), 16);
  for (const options of [{ otelrdcp_target: { match: { 'user.id': '42' } } }, { duration: '5m' }]) {
    const body = { action: 'enable', categories: 'DATABASE', options };
    const operator = await server.request(PATHS.control, { method: 'POST', key: 'admin', body });
    assert.equal(operator.status, 200, operator.text);
  }
  assert.equal(server.plane.temporaryControls(), 18);
});

test('while the store is away the sender is asked to come again, and nothing is on', async (t) => {
  let away = true;
  const memory = createMemoryStore();
  const store = withMembers(memory, {
    commit: async (commit) => {
      if (away) throw new Error('the store is away');
      return memory.commit(commit);
    },
  });
  const { server, post } = await startRuled(t, { store });
  const body = notification([{ startsAt }]);
  const refused = await server.request(PATHS.alerts, { method: 'POST', key: 'alerts', body });
  assert.deepEqual([refused.status, refused.body.error.code], [503, 'RDCP_UNAVAILABLE']);
  assert.equal(server.plane.temporaryControls(), 0);
  away = false;
  await until('the next attempt to succeed', async () => (await post(body)).status === 200);
  assert.equal(server.plane.temporaryControls(), 1);
});

test('a key comes as a bearer token too, as Alertmanager sends it; nowhere else', async (t) => {
  const { server } = await startRuled(t);
  const headers = { Authorization: `Bearer ${KEYS.alerts}`, 'Content-Type': 'application/json' };
  const body = JSON.stringify(notification([{ startsAt }]));
  const send = (path: string, init: RequestInit) => fetch(server.url + path, { headers, ...init });
  assert.equal((await send(PATHS.alerts, { method: 'POST', body })).status, 200);
  assert.equal((await send(PATHS.session, {})).status, 401);
  const wrong = { ...headers, Authorization: `${headers.Authorization}x` };
  assert.equal((await send(PATHS.alerts, { method: 'POST', body, headers: wrong })).status, 401);
  const both = { ...headers, 'X-RDCP-API-Key': KEYS.alerts };
  assert.equal((await send(PATHS.alerts, { method: 'POST', body, headers: both })).status, 400);
});

test('without rules there is no endpoint', async (t) => {
  const { server } = await startRuled(t, { rules: [] });
  assert.equal((await server.request(PATHS.alerts, { method: 'POST', key: 'alerts', body: {} })).status, 404);
});
