import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { RdcpConfig } from '../../src/options/options.ts';
import { createMemoryStore } from '../../src/store/memory/store.ts';
import type { StateStore } from '../../src/store/state-store.ts';
import { ISOLATION_LEVELS, type IsolationLevel, PATHS } from '../../src/wire/constants.ts';
import type { ControlResponse, DiscoveryResponse, StatusResponse } from '../../src/wire/messages.ts';
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

    test('an administrator of no tenant switches for the one that is named', async (t) => {
      const server = await startTenantServer(t, LEVELS[level]);
      assert.equal((await control(server, 'admin', 'enable', NAMING_ACME)).tenant?.id, 'acme');
      assert.deepEqual(await seen(server), shared ? ON : acmeAlone);
      const { body } = await server.request<DiscoveryResponse>(PATHS.discovery, server.as('acme'));
      assert.equal(
        body.categories.find(({ name }) => name === 'DATABASE')?.otelrdcp_origin,
        shared ? 'global' : 'tenant',
      );
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
