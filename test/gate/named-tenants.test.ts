import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NamedTenants } from '../../src/gate/named-tenants.ts';

test('tenants are remembered within bounds: beyond them every id may have been named', () => {
  const named = new NamedTenants();
  named.add('acme');
  named.add('x'.repeat(256));
  assert.deepEqual([named.has('acme'), named.has('acmee'), named.has('x'.repeat(256))], [true, false, false]);
  for (let index = 0; index < 10_000; index += 1) named.add(`tenant-${index}`);
  assert.equal(named.has('never named'), true);
});

test('what is no text is no tenant, and throws nothing', () => {
  const named = new NamedTenants();
  for (const id of [undefined, null, 5]) named.add(id as never);
  assert.equal(named.has('undefined'), false);
});
