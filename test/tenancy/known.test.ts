import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HEADERS, PATHS } from '../../src/wire/constants.ts';
import type { ControlResponse } from '../../src/wire/messages.ts';
import { LEVELS, type PEOPLE, startTenantServer } from '../support/tenants.ts';

type Server = Awaited<ReturnType<typeof startTenantServer>>;

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
