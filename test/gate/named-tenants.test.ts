import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GateCore } from '../../src/gate/core.ts';

test('tenants are remembered within bounds: beyond them every id may have been named', () => {
  const gate = new GateCore();
  const name = (tenantId: string) => gate.runWithTenant(tenantId, () => undefined);
  name('acme');
  for (const length of [255, 256]) name('x'.repeat(length));
  assert.deepEqual(
    ['acme', 'acmee', 'x'.repeat(255), 'x'.repeat(256)].map((tenantId) => gate.hasNamed(tenantId)),
    [true, false, true, false],
  );
  for (let index = 0; index < 10_000; index += 1) name(`tenant-${index}`);
  assert.equal(gate.hasNamed('never named'), true);
});

test('a tenant id that is not a string is ignored, and throws nothing', () => {
  const gate = new GateCore();
  for (const id of [undefined, null, 5]) gate.runWithTenant(id as never, () => undefined);
  assert.equal(gate.hasNamed('undefined'), false);
});
