import assert from 'node:assert/strict';
import { test } from 'node:test';
import { anchorAt, indexOf } from '../../src/tools/console/parts/visible-range.ts';
import { behind, foundIn, foundTenants, matching, versionsOf } from '../../src/tools/console/state/search.ts';
import type { FleetMember, TenantSummary } from '../../src/wire/messages.ts';

test('categories are chosen by name, by several names, and by pattern', () => {
  const known = ['CACHE', 'DB_POOL', 'DB_TX', 'SLOW_DB', 'X-MY-OWN'];
  const names = (typed: string, completes?: boolean) => matching(known, typed, completes);
  assert.deepEqual(names('cache'), ['CACHE']);
  assert.deepEqual(names(' cache, x-my-own  later'), ['CACHE', 'X-MY-OWN', 'LATER']);
  assert.deepEqual(names('db_*'), ['DB_POOL', 'DB_TX']);
  assert.deepEqual(names('*db'), ['SLOW_DB']);
  assert.deepEqual(names('d*p*l'), ['DB_POOL']);
  assert.equal(names('*').length, 5);
  assert.deepEqual(names(' '), []);
  assert.deepEqual([names('db', true), names('db'), names('pool', true)], [['DB_POOL'], ['DB'], ['POOL']]);
});

const member = (pid: number, fields: Partial<FleetMember> = {}): FleetMember => ({
  id: `id-${pid}`,
  host: 'web-1',
  pid,
  service: 'shop',
  version: '1.2.0',
  startedAt: '',
  applied: 41,
  pending: false,
  lastSeenAt: '',
  ...fields,
});
const MEMBERS = [member(1), member(2, { host: 'web-2', version: '1.3.0' }), member(3, { applied: 39, pending: true })];

test('processes are found by any of their words, those behind first, and counted by version', () => {
  assert.deepEqual(versionsOf(MEMBERS), [
    ['1.2.0', 2],
    ['1.3.0', 1],
  ]);
  assert.equal(behind(MEMBERS[2]!, 41), 'behind by 2');
  const { applied: _, ...fresh } = member(4);
  assert.equal(behind(fresh, 41), 'has applied none');
  const found = (search: string) => foundIn(MEMBERS, search).map(({ pid }) => pid);
  assert.deepEqual(found(''), [3, 1, 2]);
  assert.deepEqual(found('web-2:2'), [2]);
  assert.deepEqual(found('WEB-1 1.2'), [3, 1]);
  assert.deepEqual(found('web-2 1.2'), []);
});

test('tenants are found by id, name, and categories that are on for them', () => {
  const tenant = (id: string, fields: Partial<TenantSummary>): TenantSummary => ({
    id,
    isolationLevel: 'organization',
    scope: 'tenant-isolated',
    categories: {},
    temporaryControls: 0,
    ...fields,
  });
  const tenants = [tenant('acme', { name: 'Acme Ltd' }), tenant('beta', { categories: { CACHE: true, DB: false } })];
  const found = (search: string) => foundTenants(tenants, search).map(({ id }) => id);
  assert.deepEqual(found(''), ['acme', 'beta']);
  assert.deepEqual(found(' ltd '), ['acme']);
  assert.deepEqual(found('cache'), ['beta']);
  assert.deepEqual(found('db'), []);
});

test('a row keeps its place by its id, also when it is gone', () => {
  const rows = [{ id: 3 }, { id: 5 }, { id: 9 }];
  assert.deepEqual(
    [1, 3, 4, 9, 10].map((id) => indexOf(rows, id)),
    [0, 0, 1, 2, 3],
  );
  assert.deepEqual(anchorAt(rows, 30, 20), { id: 5, offset: 10 });
  assert.equal(anchorAt([], 0, 20), undefined);
});
