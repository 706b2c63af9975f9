import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GateCore } from '../../src/gate/core.ts';
import type { Controller, Sink } from '../../src/gate/types.ts';
import { attachOn, RecordingController } from './controllers.ts';

/** A controller that knows tenants of its own. */
function controllerOf(fields: Partial<Controller> & { readonly sink?: Sink } = {}) {
  return Object.assign(new RecordingController(), fields);
}

describe('a call emitted in a tenant’s context', () => {
  const emitAll = (gate: GateCore) => {
    const category = gate.category('A');
    category.debug('m');
    gate.runWithTenant('acme', () => {
      category.debug('m');
      category.span('s', () => category.debug('inside'));
      gate.runWithTenant('beta', () => category.debug('m'));
    });
  };

  test('is the tenant’s and everybody’s, where tenants are counted', () => {
    const gate = new GateCore();
    gate.category('A');
    attachOn(gate, controllerOf({ countsTenants: true }));
    emitAll(gate);
    assert.equal(gate.callsTotal(0), 5);
    assert.deepEqual(
      ['acme', 'beta', 'gamma'].map((tenant) => gate.tenantCalls.total(tenant, 0)),
      [3, 1, 0],
    );
  });

  test('is everybody’s alone where they are not', () => {
    const gate = new GateCore();
    gate.category('A');
    attachOn(gate, controllerOf());
    emitAll(gate);
    assert.equal(gate.callsTotal(0), 5);
    assert.deepEqual([...gate.tenantCalls.entries()], []);
  });

  test('is counted also when its sink threw or when it was cut, not when it was off', () => {
    const gate = new GateCore();
    const category = gate.category('A');
    const controller = controllerOf({ countsTenants: true });
    const attachment = attachOn(gate, controller);
    gate.runWithTenant('acme', () => {
      category.debug('recursive', () => {
        category.debug('cut');
        return {};
      });
      category.debug('throwing', () => {
        throw new Error('its own');
      });
      attachment.setTenant('acme', 0, false);
      category.debug('off');
    });
    assert.deepEqual([gate.tenantCalls.total('acme', 0), gate.droppedTotal(0)], [3, 2]);
  });

  test('is passed to the sink', () => {
    const gate = new GateCore();
    gate.category('A');
    const told: (string | undefined)[] = [];
    const sink: Sink = {
      emit: (_category, _message, _attributes, tenantId) => void told.push(tenantId),
      span: (_category, _name, fn, tenantId) => {
        told.push(tenantId);
        return fn();
      },
    };
    attachOn(gate, controllerOf({ sink }));
    emitAll(gate);
    assert.deepEqual(told, [undefined, 'acme', 'acme', 'acme', 'beta']);
  });
});

describe('a tenant that only the controller knows', () => {
  function setUp(currentTenant: () => string | undefined) {
    const gate = new GateCore();
    const category = gate.category('A');
    let asked = 0;
    const controller = controllerOf({
      countsTenants: true,
      currentTenant: () => {
        asked += 1;
        return currentTenant();
      },
    });
    return { gate, category, controller, attachment: gate.attach(controller), asked: () => asked };
  }

  test('decides where no runWithTenant does', () => {
    const { gate, category, attachment } = setUp(() => 'acme');
    attachment.setTenant('acme', 0, true);
    assert.equal(category.enabled, true);
    assert.equal(
      gate.runWithTenant('other', () => category.enabled),
      false,
    );
    category.debug('m');
    assert.deepEqual([...gate.tenantCalls.entries()], [['acme', 0, 1]]);
    attachment.setBase(0, true);
    attachment.setTenant('acme', 0, false);
    assert.equal(category.enabled, false);
  });

  test('is not asked for while the category is off for everybody, nor where it makes no difference', () => {
    const { category, attachment, asked } = setUp(() => 'acme');
    assert.equal(category.enabled, false);
    category.debug('m');
    category.span('s', () => undefined);
    attachment.setBase(0, true);
    assert.equal(category.enabled, true);
    assert.equal(asked(), 0);
  });

  test('is undefined when the hook throws, which is reported once', () => {
    const { category, controller, attachment } = setUp(() => {
      throw new Error('no context');
    });
    attachment.setBase(0, true);
    attachment.setTenant('acme', 0, false);
    assert.equal(category.enabled, true);
    category.debug('m');
    assert.equal(controller.emitted.length, 1);
    assert.equal(controller.failures.length, 1);
  });

  test('is forgotten with the controller', () => {
    const { gate, category, attachment } = setUp(() => 'acme');
    attachOn(gate, new RecordingController()).setTenant('acme', 0, false);
    assert.equal(category.enabled, true);
    attachment.detach();
    assert.equal(category.enabled, true);
  });
});
