import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { RdcpConfig } from '../../src/options/options.ts';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import type { StateStore } from '../../src/store/state-store.ts';
import { HEADERS, ISOLATION_LEVELS, type IsolationLevel, PATHS } from '../../src/wire/constants.ts';
import type { ControlResponse, DiscoveryResponse, StatusResponse } from '../../src/wire/messages.ts';
import { judge } from '../conformance/src/conformance.ts';
import { apiKey } from '../conformance/src/session.ts';
import { withMembers } from '../support/server.ts';
import { LEVELS, type PEOPLE, startTenantServer } from '../support/tenants.ts';

type Name = keyof typeof PEOPLE;
type Server = Awaited<ReturnType<typeof startTenantServer>>;

const NAMING_ACME = { 'X-RDCP-Tenant-ID': 'acme' };

async function control(server: Server, name: Name, action: string, headers = {}): Promise<ControlResponse> {
  const { status, body, text } = await server.request<ControlResponse>(PATHS.control, {
    method: 'POST',
    ...server.as(name, headers),
    body: { action, categories: 'DATABASE' },
  });
  assert.equal(status, 200, text);
  return body;
}

/** What each sees of DATABASE, and what the gate decides in the context of each. */
async function seen(server: Server) {
  const shown = async (name: Name, headers = {}) => {
    const { body } = await server.request<StatusResponse>(PATHS.status, server.as(name, headers));
    return body.categories.DATABASE;
  };
  const category = server.gate.category('DATABASE');
  const answers = {
    acme: await shown('acme'),
    beta: await shown('beta'),
    everybody: await shown('operator'),
  };
  const decided = {
    acme: server.gate.runWithTenant('acme', () => category.enabled),
    beta: server.gate.runWithTenant('beta', () => category.enabled),
    everybody: category.enabled,
  };
  assert.deepEqual(answers, decided, 'what is shown is what the gate does');
  assert.equal(await shown('admin', NAMING_ACME), answers.acme, 'an operator who names the tenant sees what it sees');
  return answers;
}

const OFF = { acme: false, beta: false, everybody: false };
const ON = { acme: true, beta: true, everybody: true };

for (const level of ISOLATION_LEVELS) {
  describe(`at isolation ${level}`, () => {
    const shared = level === 'global';
    const acmeAlone = { ...OFF, acme: true };

    test(`a tenant’s switch holds for ${shared ? 'all' : 'that tenant alone'}`, async (t) => {
      const server = await startTenantServer(t, LEVELS[level]);
      assert.deepEqual(await seen(server), OFF);
      const { tenant, changes } = await control(server, 'acmeOperator', 'enable');
      assert.deepEqual(tenant, {
        id: 'acme',
        isolationLevel: level,
        scope: shared ? 'global' : 'tenant-isolated',
      });
      assert.deepEqual([changes[0]?.previousState, changes[0]?.newState], [false, true]);
      assert.deepEqual(await seen(server), shared ? ON : acmeAlone);
      const { body } = await server.request<DiscoveryResponse>(PATHS.discovery, server.as('acme'));
      const origins = body.categories.map(({ name, otelrdcp_origin }) => `${name} ${otelrdcp_origin}`);
      assert.ok(origins.includes(`DATABASE ${shared ? 'global' : 'tenant'}`), origins.join());
      await control(server, 'beta', 'toggle');
      assert.deepEqual(await seen(server), shared ? OFF : { acme: true, beta: true, everybody: false });
    });

    test('an operator’s global switch holds for every tenant without a setting of its own', async (t) => {
      const server = await startTenantServer(t, LEVELS[level]);
      const { tenant } = await control(server, 'admin', 'enable');
      assert.deepEqual(tenant, { id: 'global', isolationLevel: level, scope: 'global' });
      assert.deepEqual(await seen(server), ON);
      await control(server, 'acme', 'disable');
      assert.deepEqual(await seen(server), shared ? OFF : { ...ON, acme: false });
      await control(server, 'acme', 'reset');
      assert.deepEqual(await seen(server), shared ? OFF : ON);
    });

    test('switching everything off shows to tenants, too', async (t) => {
      const server = await startTenantServer(t, LEVELS[level]);
      await control(server, 'acme', 'enable');
      server.plane.setEnabled(false);
      assert.deepEqual(await seen(server), OFF);
      server.plane.setEnabled(true);
      assert.deepEqual(await seen(server), shared ? ON : acmeAlone);
    });
  });
}

describe('another process on the same store', () => {
  /** A store that outlives the servers on it. */
  const lasting = (store: StateStore) => withMembers(store, { close: async () => undefined });

  /** What a process sees that starts after acme switched at the first one, and somebody switched HTTP for everybody. */
  async function later(
    t: TestContext,
    first: RdcpConfig['tenancy'],
    second: RdcpConfig['tenancy'],
    [acmeIs, betaIs]: readonly [Name, Name] = ['acme', 'beta'],
  ) {
    const store = lasting(createMemoryStore());
    const one = await startTenantServer(t, first, { store });
    await control(one, 'acme', 'enable');
    await one.request(PATHS.control, {
      method: 'POST',
      ...one.as('admin'),
      body: { action: 'enable', categories: 'HTTP' },
    });
    const other = await startTenantServer(t, second, { store });
    const shown = async (name: Name) => {
      const { body } = await other.request<StatusResponse>(PATHS.status, other.as(name));
      return { DATABASE: body.categories.DATABASE, HTTP: body.categories.HTTP };
    };
    const acme = await shown(acmeIs);
    assert.equal(
      other.gate.runWithTenant('acme', () => other.gate.category('DATABASE').enabled),
      acme.DATABASE,
    );
    return { acme, beta: await shown(betaIs), everybody: await shown('operator') };
  }

  const all = (states: { DATABASE: boolean; HTTP: boolean }) => ({ acme: states, beta: states, everybody: states });
  const nothing = all({ DATABASE: false, HTTP: false });
  const tenantsApart = { ...all({ DATABASE: false, HTTP: true }), acme: { DATABASE: true, HTTP: true } };

  const EXPECTED: Readonly<Record<IsolationLevel, unknown>> = {
    global: all({ DATABASE: true, HTTP: true }),
    process: nothing,
    namespace: tenantsApart,
    organization: tenantsApart,
  };
  for (const level of ISOLATION_LEVELS) {
    test(`has of isolation ${level} what the level shares`, async (t) => {
      assert.deepEqual(await later(t, LEVELS[level], LEVELS[level]), EXPECTED[level]);
    });
  }

  test('of another namespace sees neither its tenants nor its global settings', async (t) => {
    const production = { isolation: 'namespace', namespace: 'production' } as const;
    assert.deepEqual(await later(t, LEVELS.namespace, production), nothing);
  });

  test('without tenants, or with one scope for all, takes no notice of what tenants set', async (t) => {
    const expected = all({ DATABASE: false, HTTP: true });
    assert.deepEqual(await later(t, LEVELS.organization, LEVELS.global), expected);
    // Where there are no tenants, a tenant's credential is refused.
    assert.deepEqual(await later(t, LEVELS.organization, false, ['viewer', 'viewer']), expected);
  });
});

function asking(server: Server) {
  return async (who: keyof typeof PEOPLE, tenant?: string, more: object = {}, headers: Record<string, string> = {}) => {
    const body = { action: 'enable', categories: 'DATABASE', options: { duration: '5m' }, ...more };
    const as = server.as(who, { ...headers, ...(tenant !== undefined && { [HEADERS.tenantId]: tenant }) });
    const answer = await server.request<ControlResponse>(PATHS.control, { method: 'POST', ...as, body });
    assert.equal(answer.status, 200, answer.text);
    return answer.body.otelrdcp_tenantKnown;
  };
}

test('a change for a tenant that nothing is known of is made, and the answer says so, also when it is repeated', async (t) => {
  const server = await startTenantServer(t, { ...LEVELS.organization, tenants: { acme: {} } });
  const known = asking(server);
  const again = { [HEADERS.requestId]: 'once' };
  assert.deepEqual(
    [await known('admin', 'acmee', {}, again), await known('admin', 'acmee', {}, again)],
    [false, false],
    'a repeat gets the first answer',
  );
  const database = server.gate.category('DATABASE');
  assert.equal(
    server.gate.runWithTenant('acmee', () => database.enabled),
    true,
  );
  // What an operator would have found out before.
  assert.equal(await known('admin', 'betaa', { options: { otelrdcp_dryRun: true } }), false);
  assert.equal(await known('admin', 'gamma', { action: 'reset', options: {} }), false);
});

test('a tenant is known by the configuration, by its settings, or by what the application does for it', async (t) => {
  const server = await startTenantServer(t, { ...LEVELS.organization, tenants: { acme: {} } });
  const known = asking(server);
  assert.equal(await known('admin', 'acme'), undefined);
  assert.equal(await known('admin', 'delta'), false);
  assert.equal(await known('admin', 'delta'), undefined, 'it has settings now');
  server.gate.runWithTenant('worked-for', () => undefined);
  assert.equal(await known('admin', 'worked-for'), undefined);
  assert.equal(await known('admin'), undefined, 'everybody');
});

test('a credential of a tenant learns of no tenant whether it is known', async (t) => {
  const server = await startTenantServer(t, { ...LEVELS.organization, tenants: { beta: {} } });
  const known = asking(server);
  assert.equal(await known('acme'), undefined);
  assert.equal(await known('acmeOperator', 'acme', { action: 'status', options: {} }), undefined);
});

test('where all tenants have one state, or are named by baggage of which nothing was read yet, nothing is said', async (t) => {
  assert.equal(await asking(await startTenantServer(t, LEVELS.global))('admin', 'acmee'), undefined);
  const baggage = await startTenantServer(t, { ...LEVELS.organization, baggageKey: 'tenant.id' });
  assert.equal(await asking(baggage)('admin', 'acme'), undefined);
  assert.equal(await asking(baggage)('admin', 'acmee'), false, 'by now one tenant has settings');
});

/** The checks that are about tenants. */
const TENANTS = ['L2-TCTX', 'L2-TENA', 'L2-ISOL'];

for (const level of ISOLATION_LEVELS) {
  test(`a server with tenants conforms to what the specification says of them, isolation ${level}`, async (t) => {
    const server = await startTenantServer(t, LEVELS[level], { config: { security: { level: 'standard' } } });
    const of = (name: 'admin' | 'viewer' | 'acme' | 'acmeOperator' | 'beta') =>
      apiKey(name, server.as(name).headers['X-RDCP-API-Key'] ?? '');
    const credentials = { main: of('admin'), readonly: of('viewer'), tenants: [of('acmeOperator'), of('beta')] };
    const report = await judge(
      {
        target: { url: new URL(server.url) },
        level: 2,
        credentials,
        exhaust: false,
        // What tenants change about everything else shows at the level that changes most.
        only: level === 'organization' ? [] : TENANTS,
      },
      () => undefined,
    );
    const failed = report.results.filter(({ outcome }) => outcome === 'FAIL');
    assert.deepEqual(
      failed.map(({ id, statement, expected, got }) => `${id} ${statement}: expected ${expected}, got ${got}`),
      [],
    );
    const passed = report.results.filter(({ id, outcome }) => outcome === 'PASS' && TENANTS.includes(id.slice(0, 7)));
    assert.ok(passed.length >= 15, `${passed.length} checks of tenants passed`);
    assert.deepEqual(report.leftOver, []);
  });
}
