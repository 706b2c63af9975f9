import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RdcpConfig } from '../../src/options/options.ts';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import { PATHS, PROTOCOL, STANDARD_SCOPES } from '../../src/wire/constants.ts';
import type {
  ControlResponse,
  DiscoveryResponse,
  HealthResponse,
  MetricsResponse,
  SessionResponse,
  StatusResponse,
  TenantsResponse,
  WellKnownDocument,
} from '../../src/wire/messages.ts';
import { parseTimestamp } from '../../src/wire/time.ts';
import { CATEGORIES } from '../support/categories.ts';
import { newStore } from '../support/folder.ts';
import { KEYS, send, startServer } from '../support/server.ts';
import { startService } from '../support/service.ts';

const ENABLE = { method: 'POST', key: 'operator', body: { action: 'enable', categories: 'DATABASE' } } as const;

test('the well-known document is open and describes this server', async (t) => {
  const server = await startServer(t);
  const { status, body } = await server.request<WellKnownDocument>(PATHS.wellKnown);
  assert.equal(status, 200);
  assert.equal(body.protocol, PROTOCOL);
  assert.deepEqual(body.endpoints, {
    discovery: '/rdcp/v1/discovery',
    control: '/rdcp/v1/control',
    status: '/rdcp/v1/status',
    health: '/rdcp/v1/health',
  });
  assert.deepEqual(body.capabilities, {
    multiTenancy: false,
    performanceMetrics: true,
    temporaryControls: true,
    auditTrail: true,
  });
  assert.deepEqual(body.security, {
    level: 'basic',
    methods: ['api-key'],
    scopes: STANDARD_SCOPES,
    required: true,
    keyRotation: true,
    tokenRefresh: false,
  });
  assert.equal(body.otelrdcp_endpoints.session, '/rdcp/v1/session');
  for (const path of Object.values(body.otelrdcp_endpoints)) {
    assert.notEqual((await server.request(path)).status, 404, path);
  }
});

test('discovery lists every category by name, with what it emitted', async (t) => {
  const server = await startServer(t);
  await server.request(PATHS.control, ENABLE);
  const { status, body } = await server.request<DiscoveryResponse>(PATHS.discovery, { key: 'discovery' });
  assert.equal(status, 200);
  assert.equal(body.protocol, PROTOCOL);
  assert.notEqual(parseTimestamp(body.timestamp), undefined);
  assert.deepEqual(
    body.categories.map(({ name, enabled }) => [name, enabled]),
    [
      ['DATABASE', true],
      ['HTTP', false],
      ['X-CUSTOM', false],
    ],
  );
  const [database] = body.categories;
  assert.equal(database?.description, 'DATABASE in the test');
  assert.equal(database?.temporary, false);
  assert.equal(database?.otelrdcp_default, false);
  assert.equal(database?.otelrdcp_origin, 'global');
  assert.equal(database?.otelrdcp_expiresAt, undefined);
});

test('calls that were emitted are in discovery, status and metrics alike, and the total is their sum', async (t) => {
  const server = await startServer(t);
  await server.request(PATHS.control, { ...ENABLE, body: { action: 'enable', categories: ['DATABASE', 'HTTP'] } });
  for (let call = 0; call < 3; call += 1) server.gate.category('DATABASE').debug('query');
  server.gate.category('HTTP').debug('request');
  server.gate.category('X-CUSTOM').debug('off, so not emitted');
  const discovery = (await server.request<DiscoveryResponse>(PATHS.discovery, { key: 'operator' })).body;
  assert.deepEqual(discovery.performance.categoryBreakdown, { DATABASE: 3, HTTP: 1, 'X-CUSTOM': 0 });
  assert.equal(discovery.performance.totalCalls, 4);
  assert.equal(discovery.categories[0]?.metrics.callsTotal, 3);
  const status = (await server.request<StatusResponse>(PATHS.status, { key: 'operator' })).body;
  assert.equal(status.performance.totalCalls, 4);
  const metrics = (await server.request<MetricsResponse>(PATHS.metrics, { key: 'operator' })).body;
  assert.equal(metrics.metrics.callsTotal?.value, 4);
  assert.equal(metrics.categories.DATABASE?.callsTotal?.value, 3);
  assert.deepEqual(metrics.categories['X-CUSTOM'], {}, 'what is off is not measured');
});

test('a temporary control shows as such, with its end', async (t) => {
  const server = await startServer(t);
  const body = { action: 'enable', categories: 'HTTP', options: { temporary: true, duration: '10m' } };
  const { body: control } = await server.request<ControlResponse>(PATHS.control, { ...ENABLE, body });
  const { body: seen } = await server.request<DiscoveryResponse>(PATHS.discovery, { key: 'operator' });
  const http = seen.categories.find(({ name }) => name === 'HTTP');
  assert.equal(http?.temporary, true);
  assert.equal(http?.otelrdcp_origin, 'temporary');
  assert.equal(http?.otelrdcp_expiresAt, control.changes[0]?.expiresAt);
  const { body: metrics } = await server.request<MetricsResponse>(PATHS.metrics, { key: 'operator' });
  assert.equal(metrics.metrics.temporaryControls?.value, 1);
});

test('status lists which categories are on; while the instrumentation is off, none is', async (t) => {
  const server = await startServer(t);
  await server.request(PATHS.control, ENABLE);
  const on = (await server.request<StatusResponse>(PATHS.status, { key: 'status' })).body;
  assert.equal(on.enabled, true);
  assert.deepEqual(on.categories, { DATABASE: true, HTTP: false, 'X-CUSTOM': false });
  server.plane.setEnabled(false);
  const off = (await server.request<StatusResponse>(PATHS.status, { key: 'status' })).body;
  assert.equal(off.enabled, false);
  assert.deepEqual(off.categories, { DATABASE: false, HTTP: false, 'X-CUSTOM': false });
});

test('every metric is measured, in its unit, with a timestamp of its own', async (t) => {
  const server = await startServer(t);
  const { status, body } = await server.request<MetricsResponse>(PATHS.metrics, { key: 'discovery' });
  assert.equal(status, 200);
  const units: Record<string, string> = {
    callsTotal: 'count',
    callsPerSecond: 'per_second',
    cpuUsage: 'percent',
    memoryUsage: 'bytes',
    heapUsed: 'bytes',
    eventLoopDelay: 'milliseconds',
    temporaryControls: 'count',
  };
  assert.deepEqual(
    ['callsTotal', 'callsPerSecond', 'memoryUsage', 'heapUsed', 'temporaryControls'].filter(
      (name) => !(name in body.metrics),
    ),
    [],
  );
  const perCategory = Object.values(body.categories).flatMap((category) => Object.entries(category));
  for (const [name, metric] of [...Object.entries(body.metrics), ...perCategory]) {
    assert.equal(metric.measured, true);
    assert.equal(metric.unit, units[name]);
    assert.ok(Number.isFinite(metric.value));
    assert.notEqual(parseTimestamp(metric.timestamp), undefined);
  }
  assert.deepEqual(Object.keys(body.categories), [...CATEGORIES]);
});

test('without multi-tenancy there is one tenant, which is everybody', async (t) => {
  const server = await startServer(t);
  const { body: changed } = await server.request<ControlResponse>(PATHS.control, ENABLE);
  const { status, body } = await server.request<TenantsResponse>(PATHS.tenants, { key: 'admin' });
  assert.equal(status, 200);
  assert.deepEqual(body.tenants, [
    {
      id: 'global',
      isolationLevel: 'global',
      scope: 'global',
      categories: { DATABASE: true, HTTP: false, 'X-CUSTOM': false },
      temporaryControls: 0,
      lastChangedAt: changed.timestamp,
    },
  ]);
});

test('session answers the auth context of the credential', async (t) => {
  const server = await startServer(t);
  const { status, body } = await server.request<SessionResponse>(PATHS.session, { key: 'control' });
  assert.equal(status, 200);
  assert.equal(body.authenticated, true);
  assert.equal(body.method, 'api-key');
  assert.equal(body.userId, 'control-client');
  assert.deepEqual(body.scopes, ['control']);
  assert.equal(body.tenantId, undefined);
});

test('HEAD answers as GET without the body', async (t) => {
  const server = await startServer(t);
  for (const path of [PATHS.wellKnown, PATHS.status, PATHS.health, PATHS.session]) {
    const get = await server.request(path, { key: 'operator' });
    const head = await server.request(path, { key: 'operator', method: 'HEAD' });
    assert.equal(head.status, 200);
    assert.equal(head.text, '');
    assert.equal(head.headers.get('content-type'), get.headers.get('content-type'));
    assert.equal(head.headers.get('content-length'), get.headers.get('content-length'));
  }
});

test('the audit trail is read newest first, in pages, through its filters', async (t) => {
  const server = await startServer(t);
  for (const action of ['enable', 'disable', 'enable']) {
    await server.request(PATHS.control, { ...ENABLE, body: { action, categories: 'HTTP' } });
  }
  const all = (await server.request<AuditResponse>(PATHS.audit, { key: 'admin' })).body;
  assert.deepEqual(
    all.entries.map(({ action }) => action),
    ['enable', 'disable', 'enable'],
  );
  assert.equal(all.entries[0]?.identity.clientId, 'operator-client');
  assert.equal(all.otelrdcp_next, undefined);
  const filtered = (
    await server.request<AuditResponse>(`${PATHS.audit}?action=disable&category=HTTP`, { key: 'admin' })
  ).body;
  assert.equal(filtered.entries.length, 1);
  const first = (await server.request<AuditResponse>(`${PATHS.audit}?limit=2`, { key: 'admin' })).body;
  assert.equal(first.entries.length, 2);
  const cursor = encodeURIComponent(first.otelrdcp_next ?? '');
  const rest = (await server.request<AuditResponse>(`${PATHS.audit}?limit=2&cursor=${cursor}`, { key: 'admin' })).body;
  assert.deepEqual(
    [...first.entries, ...rest.entries].map(({ id }) => id),
    all.entries.map(({ id }) => id),
  );
});

test('a query of the trail that cannot be answered is refused by its field', async (t) => {
  const server = await startServer(t);
  for (const [query, field] of [
    ['limit=0', 'limit'],
    ['limit=1001', 'limit'],
    ['limit=ten', 'limit'],
    ['limit=1.5', 'limit'],
    ['limit=-1', 'limit'],
    ['limit=1e3', 'limit'],
    ['limit=0x10', 'limit'],
    ['limit=', 'limit'],
    ['limit=1&limit=2', 'limit'],
    ['cursor=', 'cursor'],
    ['cursor=nonsense', 'cursor'],
    ['cursor=../../x', 'cursor'],
    [`cursor=${'a'.repeat(2000)}`, 'cursor'],
    ['since=yesterday', 'since'],
    ['since=0', 'since'],
    ['since=2026-01-01T00:00:00Z', 'since'],
    ['until=2026-02-30T00:00:00.000Z', 'until'],
    ['action=explode', 'action'],
    ['category=lower', 'category'],
    ['client=a%20b', 'client'],
    ['outcome=maybe', 'outcome'],
    ['tenant=acme', 'tenant'],
    ['__proto__=1', '__proto__'],
    ['$where=1', '$where'],
    ['constructor=1', 'constructor'],
    ['Limit=1', 'Limit'],
  ] as const) {
    const { status, body } = await server.request(`${PATHS.audit}?${query}`, { key: 'admin' });
    const refusal = [status, body.error.code, body.error.details?.field];
    assert.deepEqual(refusal, [400, 'RDCP_MALFORMED_REQUEST', field], query);
  }
});

test('an anonymous probe learns the overall status alone, a credential the checks too', async (t) => {
  const server = await startServer(t, { config: { health: { database: async () => undefined } } });
  const probe = await server.request<HealthResponse>(PATHS.health);
  assert.equal(probe.status, 200);
  assert.deepEqual(Object.keys(probe.body).sort(), ['checks', 'protocol', 'status', 'timestamp']);
  assert.deepEqual(probe.body.checks, []);
  assert.equal(probe.body.status, 'healthy');
  for (const key of ['status', 'discovery'] as const) {
    const { body } = await server.request<HealthResponse>(PATHS.health, { key });
    assert.deepEqual(
      body.checks?.map(({ name, status }) => [name, status]),
      [
        ['store', 'pass'],
        ['audit', 'pass'],
        ['credentials', 'pass'],
        ['emit', 'pass'],
        ['database', 'pass'],
      ],
    );
  }
});

test('an application check that fails makes health 503 with the same body; a store that fails degrades it', async (t) => {
  const down = async () => {
    throw new Error('connect ECONNREFUSED /var/run/secret.sock');
  };
  const unhealthy = await startServer(t, { config: { health: { database: down } } });
  const { status, body, text } = await unhealthy.request<HealthResponse>(PATHS.health, { key: 'status' });
  assert.equal(status, 503);
  assert.equal(body.status, 'unhealthy');
  assert.equal(body.checks?.find(({ name }) => name === 'database')?.status, 'fail');
  assert.ok(!text.includes('secret'));
  const degraded = await startServer(t, { checkStore: down });
  const answer = await degraded.request<HealthResponse>(PATHS.health, { key: 'status' });
  assert.equal(answer.status, 200);
  assert.equal(answer.body.status, 'degraded');
  assert.equal(answer.body.checks?.find(({ name }) => name === 'store')?.status, 'warn');
});

test('otelrdcp_endpoints names the list of processes exactly where it answers', async (t) => {
  const tenancies: readonly RdcpConfig['tenancy'][] = [
    false,
    { isolation: 'global' },
    { isolation: 'process' },
    { isolation: 'namespace', namespace: 'shop' },
    { isolation: 'organization' },
  ];
  const named = [];
  for (const store of ['memory:', newStore(t)]) {
    for (const tenancy of tenancies) {
      const { url, rdcp } = await startService(t, { store, tenancy });
      const { body } = await send<WellKnownDocument>(url + PATHS.wellKnown);
      const { status } = await send(url + PATHS.fleet, { headers: { 'X-RDCP-API-Key': KEYS.status } });
      const { fleet } = body.otelrdcp_endpoints ?? {};
      assert.equal(fleet, status === 200 ? '/rdcp/v1/fleet' : undefined, `${store} ${JSON.stringify(tenancy)}`);
      named.push(fleet);
      await rdcp.close();
    }
  }
  assert.equal(named.filter(Boolean).length, 4);
});
