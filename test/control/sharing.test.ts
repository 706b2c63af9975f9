import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { test } from 'node:test';
import type { CommandContext, Scope } from '../../src/control/types.ts';
import { type Commit, GLOBAL_SCOPE, type ScopeKey, type ScopeState } from '../../src/store/state-store.ts';
import type { ControlRequest } from '../../src/wire/control-request.ts';
import { settled, virtualTime } from '../support/virtual-time.ts';
import { breakableStore } from './breakable-store.ts';
import { ACME, enable, GLOBAL, startPlane, startShared } from './running-plane.ts';

const TOGGLE: ControlRequest = { action: 'toggle', categories: ['DATABASE'] };

test('what another process changes, this gate follows', async () => {
  const shared = breakableStore();
  const time = virtualTime();
  const one = await startPlane({ store: shared.store, time });
  const two = await startPlane({ store: shared.store, time });
  const inAcme = () => two.gate.runWithTenant('acme', () => two.database.enabled);
  await one.control(enable(60));
  await one.control({ ...TOGGLE, action: 'disable' }, { scope: ACME });
  for (const key of [GLOBAL_SCOPE, 'acme']) await shared.announce(key);
  assert.deepEqual([two.database.enabled, inAcme()], [true, false]);
  assert.equal(two.plane.temporaryControls(), 1);
  await one.control({ action: 'reset', categories: ['DATABASE'] }, { scope: ACME });
  await shared.announce('acme');
  assert.equal(inAcme(), true);
});

test('a change that is heard before the answer to a rejected write stays in force', async () => {
  const shared = breakableStore();
  const time = virtualTime();
  const one = await startPlane({ store: shared.store, time });
  let beforeAnswer = async () => {};
  const slow = {
    ...shared.store,
    async commit(commit: Commit) {
      const result = await shared.store.commit(commit);
      if (result.outcome === 'conflict') await beforeAnswer();
      return result;
    },
  };
  const two = await startPlane({ store: slow, time });
  await one.control(enable(2));
  await shared.announce(GLOBAL_SCOPE);
  time.suspend(3000);
  const status: ControlRequest = { action: 'status', categories: ['DATABASE'] };
  await one.control(status);
  beforeAnswer = async () => {
    await one.control(enable(60));
    await shared.announce(GLOBAL_SCOPE);
  };
  await two.control(status);
  assert.deepEqual([one.database.enabled, two.database.enabled], [true, true]);
});

test('scopes of others who share the store are none of ours', async () => {
  const shared = breakableStore();
  const time = virtualTime();
  const inNamespace = (namespace: string) => ({
    isolation: {
      tenantOf: (key: ScopeKey) => (key.startsWith(`${namespace}/`) ? key.slice(namespace.length + 1) : undefined),
    },
  });
  const scope: Scope = { key: 'eu/acme', tenantId: 'acme' };
  const europe = await startPlane({ store: shared.store, time, options: inNamespace('eu') });
  const america = await startPlane({ store: shared.store, time, options: inNamespace('us') });
  await europe.control(enable(600), { scope });
  await shared.announce('eu/acme');
  const inAcme = ({ gate, database }: typeof europe) => gate.runWithTenant('acme', () => database.enabled);
  assert.deepEqual([inAcme(europe), inAcme(america)], [true, false]);
  assert.deepEqual([...europe.plane.scopes().keys()], ['eu/acme']);
  assert.deepEqual([...america.plane.scopes().keys()], []);
  assert.equal(america.plane.temporaryControls(), 0);
});

test('a tenant inherits a global temporary control, shown as one', async () => {
  const { control, stateOf, time } = await startPlane();
  const { response } = await control(enable(60));
  const { origin, temporary, expiresAt } = stateOf(ACME);
  assert.deepEqual([origin, temporary], ['temporary', true]);
  assert.equal(expiresAt, Date.parse(response.changes[0]?.expiresAt ?? ''));
  await time.pass(60_000);
  assert.equal(stateOf(ACME).origin, 'default');
});

test('the entry names the tenant of the request, and none for a global one', async () => {
  const { control, trail } = await startPlane();
  const tenants: (Pick<CommandContext, 'tenant' | 'tenantName'> & { scope?: Scope })[] = [
    { scope: ACME, tenant: { id: 'acme', isolationLevel: 'organization', scope: 'tenant-isolated' } },
    { scope: GLOBAL, tenant: { id: 'acme', isolationLevel: 'global', scope: 'global' }, tenantName: 'Acme Ltd' },
    { scope: GLOBAL, tenant: { id: 'global', isolationLevel: 'organization', scope: 'global' } },
  ];
  for (const context of tenants) await control(TOGGLE, context);
  assert.deepEqual((await trail()).map(({ tenant }) => tenant).toReversed(), [
    { id: 'acme' },
    { id: 'acme', name: 'Acme Ltd' },
    undefined,
  ]);
});

test('the expiry of temporary controls of a tenant names that tenant alone', async () => {
  const { control, trail, time } = await startPlane();
  await control(enable(60), { scope: ACME });
  await control({ ...enable(60), categories: ['CACHE'], action: 'disable' });
  await time.pass(61_000);
  const expiries = (await trail()).filter(({ action }) => action === 'expire');
  assert.deepEqual(
    expiries.map(({ tenant, categories, identity }) => [tenant?.id, categories, identity]).sort(),
    [
      ['acme', ['DATABASE'], {}],
      [undefined, ['CACHE'], {}],
    ].sort(),
  );
});

test('an expiry belongs to no request, although one made it be noticed', async () => {
  const request = new AsyncLocalStorage<string>();
  const seen: [action: unknown, request: string | undefined][] = [];
  const { control, plane, time, records } = await startPlane();
  records.push = (record) => seen.push([record.attributes['rdcp.action'], request.getStore()]);
  await request.run('POST', () => control(enable(60)));
  time.suspend(60_000);
  request.run('GET', () => plane.view(GLOBAL));
  await time.pass(1000);
  assert.deepEqual(seen, [
    ['enable', 'POST'],
    ['expire', undefined],
  ]);
});

test('a change of another history that is heard while the store is read is not taken for read', async () => {
  const { shared, control, database, time } = await startShared();
  await control({ ...TOGGLE, categories: ['CACHE'] });
  await control({ ...TOGGLE, categories: ['CACHE'] });
  const read = Promise.withResolvers<ReadonlyMap<ScopeKey, ScopeState>>();
  shared.store.load = () => read.promise;
  // The store came back empty, and before the answer that says so somebody has changed it already.
  shared.reset();
  await settled();
  const changedAt = time.clock.now();
  const state: ScopeState = { revision: 1, changedAt, settings: new Map([['DATABASE', { permanent: true }]]) };
  await shared.announce(GLOBAL_SCOPE, state);
  shared.store.load = async () => new Map([[GLOBAL_SCOPE, state]]);
  read.resolve(new Map());
  await settled();
  assert.equal(database.enabled, false);
  await time.pass(1000);
  assert.equal(database.enabled, true);
});
