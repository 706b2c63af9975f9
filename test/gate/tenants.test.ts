import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { GateCore } from '../../src/gate/core.ts';
import { attached, RecordingController } from './controllers.ts';

describe('tenants', () => {
  test('a category that is on for one tenant is off for everybody else', () => {
    const { gate, category, attachment } = attached();
    attachment.setTenant('acme', 0, true);
    assert.equal(category.enabled, false);
    assert.equal(
      gate.runWithTenant('acme', () => category.enabled),
      true,
    );
    assert.equal(
      gate.runWithTenant('other', () => category.enabled),
      false,
    );
  });

  test('a category that is off for one tenant is on for everybody else', () => {
    const { gate, category, controller, attachment } = attached();
    attachment.setBase(0, true);
    attachment.setTenant('acme', 0, false);
    category.debug('nobody');
    gate.runWithTenant('acme', () => category.debug('acme'));
    gate.runWithTenant('other', () => category.debug('other'));
    assert.deepEqual(
      controller.emitted.map(({ message }) => message),
      ['nobody', 'other'],
    );
  });

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

  test('a request that runs already sees each change at once', () => {
    const gate = new GateCore();
    const category = gate.category('A');
    const second = gate.category('B');
    gate.runWithTenant('acme', () => {
      assert.equal(category.enabled, false);
      const attachment = gate.attach(new RecordingController());
      attachment.setTenant('acme', 0, true);
      assert.deepEqual([category.enabled, second.enabled], [true, false]);
      attachment.setTenant('acme', 1, true);
      assert.deepEqual([category.enabled, second.enabled], [true, true]);
      attachment.setTenant('acme', 0, false);
      assert.deepEqual([category.enabled, second.enabled], [false, true]);
      attachment.setTenant('acme', 0, undefined);
      attachment.setBase(0, true);
      assert.deepEqual([category.enabled, second.enabled], [true, true]);
      attachment.setTenant('acme', 1, undefined);
      assert.deepEqual([category.enabled, second.enabled], [true, false]);
    });
  });

  test('removing an override that is not there changes nothing', () => {
    const { gate, category, attachment } = attached();
    attachment.setTenant('acme', 0, undefined);
    attachment.setTenant('acme', 0, true);
    attachment.setTenant('acme', 0, true);
    attachment.setTenant('other', 0, undefined);
    assert.equal(
      gate.runWithTenant('acme', () => category.enabled),
      true,
    );
    attachment.setTenant('acme', 0, undefined);
    assert.equal(
      gate.runWithTenant('acme', () => category.enabled),
      false,
    );
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
  test('the last one attached decides, and the one before it when it is gone, in any order', () => {
    const { gate, category, attachment: lower } = attached();
    lower.setBase(0, true);
    const upper = gate.attach(new RecordingController());
    assert.equal(category.enabled, false);
    lower.setBase(0, false);
    lower.setTenant('acme', 0, true);
    upper.setBase(0, true);
    assert.equal(category.enabled, true);
    upper.detach();
    upper.detach();
    assert.equal(category.enabled, false);
    gate.runWithTenant('acme', () => assert.equal(category.enabled, true));
    upper.setBase(0, true);
    upper.suspend(false);
    assert.equal(category.enabled, false);
    lower.detach();
    gate.runWithTenant('acme', () => assert.equal(category.enabled, false));
  });

  test('a request that runs already follows the one that decides', () => {
    const { gate, category, attachment: lower } = attached();
    lower.setTenant('acme', 0, true);
    lower.setTenant('other', 0, true);
    gate.runWithTenant('acme', () => {
      assert.equal(category.enabled, true);
      const upper = gate.attach(new RecordingController());
      upper.setTenant('other', 0, true);
      assert.equal(category.enabled, false);
      upper.detach();
      assert.equal(category.enabled, true);
    });
  });

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

  test('suspending switches everything off, for tenants too, and keeps what was set', () => {
    const { gate, category, attachment } = attached();
    const second = gate.category('B');
    attachment.setBase(0, true);
    attachment.setTenant('acme', 1, true);
    const acme = () => gate.runWithTenant('acme', () => [category.enabled, second.enabled]);
    assert.deepEqual(acme(), [true, true]);
    attachment.suspend(true);
    assert.deepEqual(acme(), [false, false]);
    attachment.setTenant('acme', 0, false);
    assert.deepEqual(acme(), [false, false]);
    attachment.suspend(false);
    assert.deepEqual(acme(), [false, true]);
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
