import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import { ISOLATION_LEVELS, PATHS } from '../../src/wire/constants.ts';
import type {
  ControlResponse,
  DiscoveryResponse,
  MetricsResponse,
  SessionResponse,
  StatusResponse,
  TenantsResponse,
} from '../../src/wire/messages.ts';
import { startServer } from '../support/server.ts';
import { credentialsOf, LEVELS, type Person, startTenantServer } from '../support/tenants.ts';
import { virtualTimers } from '../support/virtual-time.ts';

type Server = Awaited<ReturnType<typeof startTenantServer>>;
const NAMING_ACME = { 'X-RDCP-Tenant-ID': 'acme' };
const ENABLE = { action: 'enable', categories: 'DATABASE' };

const post = (server: Server, who: Parameters<Server['as']>, body: object = ENABLE) =>
  server.request<ControlResponse>(PATHS.control, { method: 'POST', ...server.as(...who), body });

const audit = async (server: Server, who: Parameters<Server['as']>, query = '') =>
  (await server.request<AuditResponse>(PATHS.audit + query, server.as(...who))).body.entries;

describe('the audit trail', () => {
  for (const level of ISOLATION_LEVELS) {
    test(`shows a tenant’s administrator that tenant’s entries alone, isolation ${level}`, async (t) => {
      const server = await startTenantServer(t, LEVELS[level]);
      for (const name of ['acme', 'beta', 'admin', 'acmeOperator'] as const) await post(server, [name]);
      await post(server, ['admin', NAMING_ACME], { action: 'disable', categories: 'HTTP' });
      await server.request(PATHS.status);
      await server.request(PATHS.status, { headers: { 'X-RDCP-API-Key': 'x'.repeat(40), ...NAMING_ACME } });

      const own = await audit(server, ['acme']);
      assert.deepEqual(
        own.map(({ action, identity, tenant }) => [action, identity.clientId, tenant?.id]),
        [
          ['disable', 'admin-client', 'acme'],
          ['enable', 'acmeOperator-client', 'acme'],
          ['enable', 'acme-client', 'acme'],
        ],
      );
      assert.deepEqual(await audit(server, ['admin', NAMING_ACME]), own);
      const all = await audit(server, ['admin']);
      assert.equal(all.length, 6);
      assert.deepEqual(
        all.filter(({ identity }) => identity.clientId === 'admin-client').map(({ tenant }) => tenant?.id),
        ['acme', undefined],
      );
      assert.equal(all.filter(({ action }) => action === 'authenticate').length, 1);
    });
  }

  test('files a refusal under the tenant that it came from, not under the one that was named', async (t) => {
    const server = await startTenantServer(t, LEVELS.organization);
    await post(server, ['acmeOperator', { 'X-RDCP-Tenant-ID': 'beta', 'X-RDCP-Request-ID': 'crossing' }]);
    await server.request(PATHS.audit, server.as('acmeOperator', { 'X-RDCP-Request-ID': 'no-admin' }));
    await post(server, ['operator', { 'X-RDCP-Tenant-ID': 'beta' }]);
    assert.deepEqual(await audit(server, ['beta']), []);
    assert.deepEqual(
      (await audit(server, ['acme'])).map(({ outcome, error, requestId }) => [outcome, error, requestId]),
      [
        ['denied', 'RDCP_FORBIDDEN', 'no-admin'],
        ['denied', 'RDCP_FORBIDDEN', 'crossing'],
      ],
    );
    assert.deepEqual(
      (await audit(server, ['admin'])).map(({ tenant }) => tenant?.id),
      [undefined, 'acme', 'acme'],
    );
  });

  test('cannot be asked for another tenant, and pages within its own', async (t) => {
    const server = await startTenantServer(t, LEVELS.organization);
    for (let round = 0; round < 3; round++) {
      for (const name of ['acme', 'beta'] as const)
        await post(server, [name], { action: 'toggle', categories: 'HTTP' });
    }
    assert.equal((await server.request(`${PATHS.audit}?tenant=beta`, server.as('acme'))).status, 400);
    const first = await server.request<AuditResponse>(`${PATHS.audit}?limit=2`, server.as('acme'));
    const cursor = encodeURIComponent(first.body.otelrdcp_next ?? '');
    const second = await server.request<AuditResponse>(`${PATHS.audit}?cursor=${cursor}`, server.as('acme'));
    const ids = [...first.body.entries, ...second.body.entries].map(({ tenant }) => tenant?.id);
    assert.deepEqual(ids, ['acme', 'acme', 'acme']);
    const foreign = await server.request<AuditResponse>(`${PATHS.audit}?cursor=${cursor}`, server.as('beta'));
    assert.equal(
      foreign.body.entries.every(({ tenant }) => tenant?.id === 'beta'),
      true,
    );
  });

  test('keeps the name that came along, bounded and escaped', async (t) => {
    const server = await startTenantServer(t, LEVELS.organization);
    await post(server, ['acme', { 'X-RDCP-Tenant-Name': `Acme\x9b31m GmbH${'!'.repeat(500)}` }]);
    const [entry] = await audit(server, ['acme']);
    assert.equal(entry?.tenant?.name?.startsWith('Acme\\u009b31m GmbH!!'), true);
    assert.equal((entry?.tenant?.name?.length ?? 0) <= 210, true);
  });
});

describe('what was emitted', () => {
  async function calls(server: Server, who: Parameters<Server['as']>) {
    const discovery = await server.request<DiscoveryResponse>(PATHS.discovery, server.as(...who));
    const status = await server.request<StatusResponse>(PATHS.status, server.as(...who));
    const metrics = await server.request<MetricsResponse>(PATHS.metrics, server.as(...who));
    const total = discovery.body.categories.find(({ name }) => name === 'DATABASE')?.metrics.callsTotal;
    assert.equal(discovery.body.performance.totalCalls, total);
    assert.equal(discovery.body.performance.categoryBreakdown.DATABASE, total);
    assert.equal(status.body.performance.totalCalls, total);
    assert.equal(metrics.body.metrics.callsTotal?.value, total);
    assert.equal(metrics.body.categories.DATABASE?.callsTotal?.value ?? 0, total);
    const rate = metrics.body.categories.DATABASE?.callsPerSecond?.value ?? 0;
    assert.equal(rate > 0, (total ?? 0) > 0);
    return total;
  }

  for (const level of ISOLATION_LEVELS) {
    const apart = level === 'organization';
    test(`is shown ${apart ? 'to each tenant as far as it is its own' : 'whole to all'} at ${level}`, async (t) => {
      const server = await startTenantServer(t, LEVELS[level]);
      await post(server, ['admin']);
      const category = server.gate.category('DATABASE');
      const emit = (count: number) => {
        for (let call = 0; call < count; call++) category.debug('m');
      };
      emit(1);
      server.gate.runWithTenant('acme', () => emit(10));
      server.gate.runWithTenant('acme', () => category.span('s', () => emit(1)));
      server.gate.runWithTenant('ghost', () => emit(100));
      assert.equal(await calls(server, ['operator']), 113);
      assert.equal(await calls(server, ['acme']), apart ? 12 : 113);
      assert.equal(await calls(server, ['beta']), apart ? 0 : 113);
      assert.equal(await calls(server, ['admin', NAMING_ACME]), apart ? 12 : 113);
    });
  }

  test('and the load of the process is no tenant’s at organization', async (t) => {
    const server = await startTenantServer(t, LEVELS.organization);
    const names = async (who: Parameters<Server['as']>) =>
      Object.keys((await server.request<MetricsResponse>(PATHS.metrics, server.as(...who))).body.metrics).sort();
    assert.deepEqual(await names(['acme']), ['callsPerSecond', 'callsTotal', 'temporaryControls']);
    assert.equal((await names(['operator'])).includes('memoryUsage'), true);
  });

  test('has temporary controls of one’s own alone', async (t) => {
    const server = await startTenantServer(t, LEVELS.organization);
    await post(server, ['acme'], { ...ENABLE, options: { temporary: true } });
    const live = async (name: 'acme' | 'beta' | 'operator') =>
      (await server.request<MetricsResponse>(PATHS.metrics, server.as(name))).body.metrics.temporaryControls?.value;
    assert.deepEqual([await live('acme'), await live('beta'), await live('operator')], [1, 0, 0]);
  });
});

describe('one tenant', () => {
  test('gets no answer, and no refusal, of another’s request id', async (t) => {
    const server = await startTenantServer(t, LEVELS.organization);
    const id = { 'X-RDCP-Request-ID': 'the-same' };
    const first = await post(server, ['acme', id]);
    const second = await post(server, ['beta', id], { action: 'disable', categories: 'HTTP' });
    assert.deepEqual([first.status, second.status], [200, 200]);
    assert.equal(second.headers.get('x-rdcp-replayed'), null);
    assert.equal(second.body.tenant?.id, 'beta');
    const again = await post(server, ['acme', id]);
    assert.equal(again.headers.get('x-rdcp-replayed'), 'true');
    assert.deepEqual(again.body, first.body);
  });

  for (const level of ISOLATION_LEVELS) {
    test(`named in a repeat in place of another makes it another request, isolation ${level}`, async (t) => {
      const server = await startTenantServer(t, LEVELS[level]);
      const named = (id: string) => ({ 'X-RDCP-Request-ID': 'the-same', 'X-RDCP-Tenant-ID': id });
      assert.equal((await post(server, ['admin', named('acme')])).status, 200);
      assert.equal((await post(server, ['admin', named('beta')])).status, 422);
    });
  }

  test('spends its own quota, and sees no other', async (t) => {
    const server = await startTenantServer(t, LEVELS.organization, { config: { limits: { readPerMinute: 3 } } });
    const remaining = async (name: 'acme' | 'beta') => {
      const { status, headers } = await server.request(PATHS.status, server.as(name));
      return [status, headers.get('ratelimit')?.match(/r=(\d+)/)?.[1]];
    };
    assert.deepEqual(await remaining('acme'), [200, '2']);
    assert.deepEqual(await remaining('acme'), [200, '1']);
    assert.deepEqual(await remaining('beta'), [200, '2']);
    assert.deepEqual(await remaining('acme'), [200, '0']);
    assert.deepEqual(await remaining('acme'), [429, '0']);
    assert.deepEqual(await remaining('beta'), [200, '1']);
  });

  test('may have as many temporary controls as any other', async (t) => {
    const server = await startTenantServer(t, LEVELS.organization, {
      config: { controls: { maxTemporaryPerTenant: 1 } },
    });
    const temporary = (categories: string) => ({ action: 'enable', categories, options: { temporary: true } });
    assert.equal((await post(server, ['acme'], temporary('HTTP'))).status, 200);
    assert.equal((await post(server, ['acme'], temporary('DATABASE'))).status, 409);
    assert.equal((await post(server, ['beta'], temporary('DATABASE'))).status, 200);
  });

  test('is refused another before anything is looked up, so that no time is spent on whether it exists', async (t) => {
    const used: string[] = [];
    const noting = <T extends object>(part: T, name: string): T =>
      new Proxy(part, {
        get: (target, member) => {
          const value: unknown = Reflect.get(target, member, target);
          if (typeof value !== 'function') return value;
          return (...parameters: unknown[]) => {
            used.push(`${name}.${String(member)}`);
            return value.apply(target, parameters);
          };
        },
      });
    const server = await startTenantServer(
      t,
      { ...LEVELS.organization, tenants: { beta: {} } },
      {
        config: { alerts: [{ name: 'slow', match: { alertname: 'Slow' }, enable: ['HTTP'], for: '1m' }] },
        wrap: ({ plane, trail, measurements }) => ({
          plane: noting(plane, 'plane'),
          trail: noting(trail, 'trail'),
          measurements: noting(measurements, 'measurements'),
        }),
      },
    );
    await post(server, ['beta']);
    const paths = Object.values(PATHS);
    const posts: string[] = [PATHS.control, PATHS.approve, PATHS.forecast, PATHS.failures, PATHS.alerts];
    const spent = async (tenantId: string) => {
      const steps: string[][] = [];
      for (const path of paths) {
        used.length = 0;
        const posted = posts.includes(path) && { method: 'POST', body: ENABLE };
        const as = server.as('acme', { 'X-RDCP-Tenant-ID': tenantId });
        const { status } = await server.request(path, { ...as, ...posted });
        assert.equal(status, path === PATHS.wellKnown ? 200 : 403);
        steps.push([...used]);
      }
      return steps;
    };
    const expected = paths.map((path) => (path === PATHS.wellKnown ? [] : ['trail.refused']));
    assert.deepEqual(await spent('beta'), expected);
    assert.deepEqual(await spent('ghost'), expected);
  });

  test('finds no word of another in anything that it can read', async (t) => {
    const server = await startTenantServer(t, { ...LEVELS.organization, tenants: { beta: { name: 'Beta AG' } } });
    await post(server, ['beta', { 'X-RDCP-Tenant-Name': 'Beta AG' }], {
      ...ENABLE,
      options: { reason: 'beta is slow' },
    });
    await post(server, ['beta', { 'X-RDCP-Tenant-ID': 'acme' }]);
    server.gate.runWithTenant('beta', () => server.gate.category('DATABASE').debug('m'));
    for (const path of Object.values(PATHS)) {
      for (const headers of [{}, { 'X-RDCP-Tenant-ID': 'beta' }]) {
        // A stream of events does not end.
        const method = path === PATHS.events && !('X-RDCP-Tenant-ID' in headers) ? 'HEAD' : 'GET';
        const { text } = await server.request(path, { method, ...server.as('acme', headers) });
        assert.doesNotMatch(text, /beta/i, path);
      }
    }
  });
});

describe('the list of tenants', () => {
  const tenancy = { ...LEVELS.organization, tenants: { zeta: { name: 'Zeta' }, beta: { name: 'Beta AG' } } };
  const list = async (server: Server, ...who: Parameters<Server['as']>) =>
    (await server.request<TenantsResponse>(PATHS.tenants, server.as(...who))).body;

  test('holds those that are configured and those with settings, by id', async (t) => {
    const server = await startTenantServer(t, tenancy);
    await post(server, ['acme'], { ...ENABLE, options: { temporary: true } });
    const body = await list(server, 'admin');
    const off = { DATABASE: false, HTTP: false, 'X-CUSTOM': false };
    const common = { isolationLevel: 'organization', scope: 'tenant-isolated' };
    const [acme, ...configured] = body.tenants;
    assert.match(acme?.lastChangedAt ?? '', /^\d{4}-.*Z$/);
    assert.deepEqual(
      { ...acme, lastChangedAt: undefined },
      {
        ...{ id: 'acme', ...common, categories: { ...off, DATABASE: true }, temporaryControls: 1 },
        lastChangedAt: undefined,
      },
    );
    assert.deepEqual(configured, [
      { id: 'beta', name: 'Beta AG', ...common, categories: off, temporaryControls: 0 },
      { id: 'zeta', name: 'Zeta', ...common, categories: off, temporaryControls: 0 },
    ]);
    assert.deepEqual(body.tenant, { id: 'global', isolationLevel: 'organization', scope: 'global' });
  });

  test('is a tenant’s own entry alone for its administrator, also before anything was set', async (t) => {
    const server = await startTenantServer(t, tenancy);
    await post(server, ['beta']);
    const ids = async (...who: Parameters<Server['as']>) => (await list(server, ...who)).tenants.map(({ id }) => id);
    assert.deepEqual(await ids('acme'), ['acme']);
    assert.deepEqual(await ids('beta'), ['beta']);
    assert.deepEqual(await ids('admin', { 'X-RDCP-Tenant-ID': 'beta' }), ['beta']);
  });

  test('says when a tenant was changed last, also after its last setting was reset', async (t) => {
    const server = await startTenantServer(t, tenancy);
    const changedAt = async () => (await list(server, 'beta')).tenants[0]?.lastChangedAt;
    assert.equal(await changedAt(), undefined);
    await post(server, ['admin']);
    assert.equal(await changedAt(), undefined, 'what was changed for everybody is no change of its own');
    await post(server, ['beta']);
    const first = Date.parse((await changedAt()) ?? '');
    await post(server, ['beta'], { action: 'reset' });
    assert.ok(Date.parse((await changedAt()) ?? '') >= first);
  });

  test('drops a tenant that is not configured when its last setting is reset', async (t) => {
    const server = await startTenantServer(t, tenancy);
    await post(server, ['acme']);
    await post(server, ['acme'], { action: 'reset' });
    assert.deepEqual(
      (await list(server, 'admin')).tenants.map(({ id }) => id),
      ['beta', 'zeta'],
    );
  });

  test('shows at isolation global that all have the same', async (t) => {
    const server = await startTenantServer(t, { ...LEVELS.global, tenants: { beta: {} } });
    await post(server, ['acme']);
    const [beta, ...others] = (await list(server, 'admin')).tenants;
    assert.deepEqual(others, []);
    assert.equal(beta?.scope, 'global');
    assert.equal(beta?.categories.DATABASE, true);
    assert.ok(Math.abs(Date.parse(beta?.lastChangedAt ?? '') - Date.now()) < 60_000, beta?.lastChangedAt);
  });

  test('ends where one answer would be too long, and says how many there are', async (t) => {
    const tenants = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`t${index}`, {}]));
    const server = await startTenantServer(t, { ...LEVELS.organization, tenants });
    for (let index = 0; index < 997; index++) server.gate.category(`C${index}`);
    const body = await list(server, 'admin');
    assert.equal(body.tenants.length, 250);
    assert.equal(body.otelrdcp_total, 300);
    assert.equal((await list(server, 'admin', { 'X-RDCP-Tenant-ID': 't99' })).tenants[0]?.id, 't99');
  });
});

test('the session shows the tenant of the credential', async (t) => {
  const server = await startTenantServer(t, LEVELS.organization);
  const session = async (...who: Parameters<Server['as']>) =>
    (await server.request<SessionResponse>(PATHS.session, server.as(...who))).body;
  assert.equal((await session('acme')).tenantId, 'acme');
  assert.equal((await session('operator')).tenantId, 'global');
  const naming = await session('admin', NAMING_ACME);
  assert.deepEqual([naming.tenantId, naming.tenant?.id], ['global', 'acme']);
});

const TENANTS = ['acme', 'bravo', 'globex'];
const EVERYBODY = [...TENANTS, 'none'];
/** Credentials, and the tenants that each may reach. */
const HOLDERS: Readonly<Record<string, { readonly has: Omit<Person, 'scopes'>; readonly own: readonly string[] }>> = {
  'one tenant': { has: { tenantId: 'acme' }, own: ['acme'] },
  'some tenants': { has: { tenants: ['acme', 'b*'] }, own: ['acme', 'bravo'] },
  'any tenant': { has: { tenants: ['*'] }, own: TENANTS },
  'no tenant': { has: {}, own: EVERYBODY },
};
type Reach = 'control' | 'tail' | 'discovery' | 'audit';

/** The tenants that a request reaches, or the status of its refusal. */
function reached(level: string, { has, own }: (typeof HOLDERS)[string], named: string | undefined, path: Reach) {
  if (level === 'none') {
    if (own !== EVERYBODY) return 403;
    return named !== undefined && (path === 'control' || path === 'tail') ? 400 : own;
  }
  if (named !== undefined && (named !== 'global' || has.tenantId)) return own.includes(named) ? [named] : 403;
  return has.tenants && path === 'control' ? 400 : own;
}

for (const level of ['none', ...ISOLATION_LEVELS] as const) {
  test(`a credential reaches its own tenants, and of these the one that is named, isolation ${level}`, async (t) => {
    const time = virtualTimers(t);
    const people = Object.entries(HOLDERS).map(([name, { has }]) => [name, { scopes: ['admin'], ...has }] as const);
    const { authenticator, headers } = await credentialsOf(Object.fromEntries(people));
    const server = await startServer(t, {
      config: { tenancy: level !== 'none' && LEVELS[level] },
      clock: time.clock,
      wrap: () => ({ authenticator, ...time }),
    });
    const category = server.gate.category('DATABASE');
    const within = <T>(id: string, work: () => T) => (id === 'none' ? work() : server.gate.runWithTenant(id, work));
    const naming = (person: string, named: string | undefined): Readonly<Record<string, string>> => ({
      ...headers[person],
      ...(named !== undefined && { 'X-RDCP-Tenant-ID': named }),
    });
    const control = (who: ReturnType<typeof naming>, action: string, categories: string) =>
      server.request(PATHS.control, { method: 'POST', headers: who, body: { action, categories } });
    for (const id of EVERYBODY) {
      server.gate.category(`OF_${id}`.toUpperCase());
      const named = level === 'none' || id === 'none' ? undefined : id;
      await control(naming('no tenant', named), 'enable', `OF_${id}`.toUpperCase());
    }
    const found = (text: string) => EVERYBODY.filter((id) => new RegExp(`OF_${id}`, 'i').test(text));

    const reach: Record<Reach, (who: ReturnType<typeof naming>) => Promise<number | readonly string[]>> = {
      async control(who) {
        const { status } = await control(who, 'enable', 'DATABASE');
        const switched = EVERYBODY.filter((id) => within(id, () => category.enabled));
        if (status !== 200) assert.deepEqual(switched, [], 'a refusal changes nothing');
        await control(who, 'reset', 'DATABASE');
        return status === 200 ? switched : status;
      },
      async tail(who) {
        const answer = await fetch(`${server.url}${PATHS.tail}?categories=DATABASE&duration=2`, { headers: who });
        await time.pass(1000);
        for (const id of EVERYBODY) within(id, () => category.debug(`OF_${id}`));
        await time.pass(2000);
        return answer.ok ? found(await answer.text()) : answer.status;
      },
      async discovery(who) {
        const { status, body } = await server.request<DiscoveryResponse>(PATHS.discovery, { headers: who });
        return status === 200 ? found(JSON.stringify(body.categories.filter(({ enabled }) => enabled))) : status;
      },
      async audit(who) {
        const { status, text } = await server.request(PATHS.audit, { headers: who });
        return status === 200 ? found(text) : status;
      },
    };

    /** All tenants have one state, or each inherits what is set for none. */
    const shown = (path: Reach, own: readonly string[]) => {
      if (path === 'tail' || path === 'audit') return own;
      if (level === 'none' || level === 'global') return EVERYBODY;
      if (path === 'control') return own;
      return own.length === 1 ? [...own, 'none'] : ['none'];
    };
    for (const path of Object.keys(reach) as Reach[]) {
      for (const [person, holder] of Object.entries(HOLDERS)) {
        for (const named of [undefined, 'global', ...TENANTS]) {
          const own = reached(level, holder, named, path);
          const expected = typeof own === 'number' ? own : shown(path, own);
          const message = `${path} with a credential of ${person}, naming ${named}`;
          assert.deepEqual(await reach[path](naming(person, named)), expected, message);
        }
      }
    }
  });
}
