// In a process of its own: it measures the memory of the process.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { GateCore } from '../../src/gate/core.ts';
import { RecordingController } from './controllers.ts';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

function heapGrowth(run: () => void): number {
  collect();
  const before = process.memoryUsage().heapUsed;
  run();
  return process.memoryUsage().heapUsed - before;
}

describe('memory', () => {
  test('a million calls of a category that is off allocate nothing', () => {
    const gate = new GateCore();
    const category = gate.category('A');
    gate.attach(new RecordingController()).setTenant('acme', gate.category('B') && 1, true);
    const attributes = { a: 1 };
    const run = () => {
      for (let call = 0; call < 1_000_000; call++) {
        category.debug('m', attributes);
        if (category.enabled) assert.fail('it is off');
      }
    };
    run();
    // One object per call would be 16 MB at least.
    assert.ok(heapGrowth(run) < 1_000_000);
  });

  test('10,000 tenants with ten overrides each, of 1,024 categories, take under 1 KiB each', () => {
    const gate = new GateCore();
    for (let index = 0; index < 1024; index++) gate.category(`C${index}`);
    const attachment = gate.attach(new RecordingController());
    const tenants = Array.from({ length: 10_000 }, (_, index) => `tenant-${index}`);
    const perTenant =
      heapGrowth(() => {
        for (const [at, tenant] of tenants.entries()) {
          for (let k = 0; k < 10; k++) attachment.setTenant(tenant, (at * 7 + k * 101) % 1024, k % 2 === 0);
        }
        collect();
      }) / tenants.length;
    assert.ok(perTenant < 1024, `${perTenant} bytes`);
    assert.equal(
      gate.runWithTenant('tenant-0', () => gate.category('C0').enabled),
      true,
    );
  });
});
