import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RdcpConfig } from '../../src/options/options.ts';
import { PATHS, STANDARD_SCOPES } from '../../src/wire/constants.ts';
import type {
  ControlResponse,
  DiscoveryResponse,
  HealthResponse,
  MetricsResponse,
  StatusResponse,
  TenantsResponse,
  WellKnownDocument,
} from '../../src/wire/messages.ts';
import { newStore } from '../support/folder.ts';
import { KEYS, send, startServer } from '../support/server.ts';
import { startService } from '../support/service.ts';

/** Without multi-tenancy there is one tenant. */
const EVERYBODY = { id: 'global', isolationLevel: 'global', scope: 'global' };
const ENABLE = { method: 'POST', key: 'operator', body: { action: 'enable', categories: 'DATABASE' } } as const;

test('the well-known document says what this server can, and how it is secured', async (t) => {
  const { body } = await (await startServer(t)).request<WellKnownDocument>(PATHS.wellKnown);
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
});

test('what is on, for how long, and how often it was called, is the same in every answer', async (t) => {
  const server = await startServer(t);
  const read = async <T>(path: string) => (await server.request<T>(path, { key: 'admin' })).body;
  await server.request(PATHS.control, ENABLE);
  const body = { action: 'enable', categories: 'HTTP', options: { duration: '10m' } };
  const { body: changed } = await server.request<ControlResponse>(PATHS.control, { ...ENABLE, body });
  for (const name of ['DATABASE', 'DATABASE', 'HTTP', 'X-CUSTOM']) server.gate.category(name).debug('called');

  const discovery = await read<DiscoveryResponse>(PATHS.discovery);
  const about = 'in the test';
  assert.deepEqual(
    discovery.categories.map(({ name, description, enabled, otelrdcp_origin, otelrdcp_expiresAt, metrics }) => [
      ...[name, description, enabled, otelrdcp_origin, otelrdcp_expiresAt, metrics.callsTotal],
    ]),
    [
      ['DATABASE', `DATABASE ${about}`, true, 'global', undefined, 2],
      ['HTTP', `HTTP ${about}`, true, 'temporary', changed.changes[0]?.expiresAt, 1],
      ['X-CUSTOM', `X-CUSTOM ${about}`, false, 'default', undefined, 0],
    ],
  );
  assert.deepEqual(discovery.performance.categoryBreakdown, { DATABASE: 2, HTTP: 1, 'X-CUSTOM': 0 });
  const categories = { DATABASE: true, HTTP: true, 'X-CUSTOM': false };
  const status = await read<StatusResponse>(PATHS.status);
  assert.deepEqual([status.enabled, status.categories, status.performance.totalCalls], [true, categories, 3]);
  const { metrics, categories: measured } = await read<MetricsResponse>(PATHS.metrics);
  const { callsTotal, temporaryControls, heapUsed } = metrics;
  assert.deepEqual([callsTotal?.value, temporaryControls?.value, heapUsed?.unit], [3, 1, 'bytes']);
  assert.deepEqual(
    [measured.DATABASE?.callsTotal?.value, measured['X-CUSTOM']],
    [2, {}],
    'what is off is not measured',
  );
  assert.deepEqual((await read<TenantsResponse>(PATHS.tenants)).tenants, [
    { ...EVERYBODY, categories, temporaryControls: 1, lastChangedAt: changed.timestamp },
  ]);

  server.plane.setEnabled(false);
  const off = await read<StatusResponse>(PATHS.status);
  assert.deepEqual([off.enabled, new Set(Object.values(off.categories))], [false, new Set([false])]);
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

test('a query of the trail that cannot be answered is refused by its field', async (t) => {
  const server = await startServer(t);
  for (const [query, field] of [
    ['limit=0', 'limit'],
    ['limit=ten', 'limit'],
    ['limit=-1', 'limit'],
    ['limit=1e3', 'limit'],
    ['limit=1&limit=2', 'limit'],
    ['cursor=', 'cursor'],
    ['cursor=nonsense', 'cursor'],
    [`cursor=${'a'.repeat(2000)}`, 'cursor'],
    ['since=yesterday', 'since'],
    ['since=2026-01-01T00:00:00Z', 'since'],
    ['until=2026-02-30T00:00:00.000Z', 'until'],
    ['action=explode', 'action'],
    ['category=lower', 'category'],
    ['client=a%20b', 'client'],
    ['outcome=maybe', 'outcome'],
    ['tenant=acme', 'tenant'],
    ['__proto__=1', '__proto__'],
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
  const degraded = await startServer(t, { wrap: () => ({ checkStore: down }) });
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
