import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { GateCore } from '../../src/gate/core.ts';
import { attached, RecordingController } from './controllers.ts';

describe('tenants', () => {
  test('the tenant follows asynchronous work, and the inner of two counts', async () => {
    const { gate, category, attachment } = attached();
    attachment.setTenant('acme', 0, true);
    const seen = await gate.runWithTenant('acme', async () => {
      await setImmediate();
      const inner = gate.runWithTenant('other', () => category.enabled);
      return [category.enabled, inner, category.enabled];
    });
    assert.deepEqual(seen, [true, false, true]);
  });

  test('more tenants served than are kept unpacked are all decided rightly, also after a change', () => {
    const { gate, category, attachment } = attached();
    const tenants = Array.from({ length: 1000 }, (_, index) => `t${index}`);
    for (const [index, tenant] of tenants.entries()) attachment.setTenant(tenant, 0, index % 3 === 0);
    const on = () => tenants.filter((tenant) => gate.runWithTenant(tenant, () => category.enabled)).length;
    assert.equal(on(), 334);
    assert.equal(on(), 334);
    for (const tenant of tenants) attachment.setTenant(tenant, 0, true);
    assert.equal(on(), 1000);
  });

  test('what the function returns or throws is passed on', () => {
    const gate = new GateCore();
    const error = new Error('its own');
    assert.equal(
      gate.runWithTenant('acme', () => 7),
      7,
    );
    assert.throws(
      () =>
        gate.runWithTenant('acme', () => {
          throw error;
        }),
      (thrown) => thrown === error,
    );
  });
});

describe('control planes one after the other', () => {
  test('calls go to the one that decides', () => {
    const gate = new GateCore();
    const category = gate.category('A');
    const controllers = [new RecordingController(), new RecordingController()];
    const attachments = controllers.map((controller) => gate.attach(controller));
    for (const attachment of attachments) attachment.setBase(0, true);
    category.debug('m');
    assert.deepEqual(
      controllers.map(({ emitted }) => emitted.length),
      [0, 1],
    );
    attachments[1]?.detach();
    category.debug('m');
    assert.deepEqual(
      controllers.map(({ emitted }) => emitted.length),
      [1, 1],
    );
    assert.equal(gate.callsTotal(0), 2);
  });
});

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
