import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as categories from '../../src/gate/categories.ts';
import { GateCore } from '../../src/gate/core.ts';
import * as names from '../../src/wire/names.ts';
import fc from '../support/fast-check.ts';
import { RecordingController } from './controllers.ts';

describe('registering categories', () => {
  test('the same name gives the same handle', () => {
    const gate = new GateCore();
    const first = gate.category('CHECKOUT');
    assert.equal(gate.category('CHECKOUT', { description: 'later' }), first);
    assert.notEqual(gate.category('PAYMENT'), first);
    assert.deepEqual(
      gate.categories().map(({ index, name }) => [index, name]),
      [
        [0, 'CHECKOUT'],
        [1, 'PAYMENT'],
      ],
    );
  });

  test('a later description fills an empty one and never replaces one', () => {
    const gate = new GateCore();
    const category = gate.category('CHECKOUT');
    assert.equal(category.description, '');
    gate.category('CHECKOUT', { description: 'first' });
    gate.category('CHECKOUT', { description: 'second' });
    assert.equal(category.description, 'first');
    assert.equal(gate.categories()[0]?.description, 'first');
  });

  test('of several defaults the first one given counts', () => {
    const gate = new GateCore();
    gate.category('A');
    gate.category('A', { enabled: true });
    gate.category('A', { enabled: false });
    gate.category('B', { enabled: false });
    gate.category('B', { enabled: true });
    assert.deepEqual(
      gate.categories().map(({ defaultEnabled }) => defaultEnabled),
      [true, false],
    );
  });

  test('every control plane hears of a new category before its handle is returned, and of a default given later', () => {
    const gate = new GateCore();
    gate.category('BEFORE');
    const lower = new RecordingController();
    const upper = new RecordingController();
    gate.attach(lower);
    gate.attach(upper);
    gate.category('A');
    gate.category('A', { enabled: true });
    gate.category('A', { enabled: true });
    gate.category('B', { enabled: true });
    assert.deepEqual(upper.announced, ['A off', 'A on', 'B on']);
    assert.deepEqual(lower.announced, upper.announced);
  });

  test('a default can be applied by the control plane before the handle is seen', () => {
    const gate = new GateCore();
    const controller = new RecordingController();
    const attachment = gate.attach(controller);
    controller.registered = (category) => attachment.setBase(gate.categories().length - 1, category.defaultEnabled);
    assert.equal(gate.category('A', { enabled: true }).enabled, true);
  });

  test('a control plane that throws at a new category does not harm the application', () => {
    const gate = new GateCore();
    const controller = new RecordingController();
    const error = new Error('broken');
    controller.registered = () => {
      throw error;
    };
    gate.attach(controller);
    assert.equal(gate.category('A').name, 'A');
    assert.deepEqual(controller.failures, [{ category: 'A', error }]);
  });

  test('a name that is none is refused with both patterns', () => {
    const gate = new GateCore();
    for (const name of ['', 'checkout', 'X-', `A${'B'.repeat(64)}`, 'A\n']) {
      assert.throws(() => gate.category(name), {
        name: 'TypeError',
        message: /invalid category name .*: it must match \^\[A-Z\].*\^X-\[A-Z\]/,
      });
    }
    assert.throws(() => gate.category(undefined as unknown as string), { name: 'TypeError' });
    assert.equal(gate.categories().length, 0);
  });

  test('the patterns are those of the protocol', () => {
    assert.deepEqual(categories.CATEGORY_NAME, names.CATEGORY_NAME);
    assert.deepEqual(categories.CUSTOM_CATEGORY_NAME, names.CUSTOM_CATEGORY_NAME);
  });

  test('the gate takes a name exactly when the protocol does', () => {
    const almost = fc.stringMatching(/^(X-)?[A-Za-z][A-Za-z0-9_-]{0,66}$/);
    fc.assert(
      fc.property(fc.oneof(almost, fc.string()), (name) => {
        const gate = new GateCore();
        if (names.isCategoryName(name)) assert.equal(gate.category(name).name, name);
        else assert.throws(() => gate.category(name), TypeError);
      }),
    );
  });

  test('the control plane limits the number of categories; those that exist are still given', () => {
    const gate = new GateCore();
    const attachment = gate.attach(new RecordingController(2));
    const a = gate.category('A');
    gate.category('B');
    assert.throws(() => gate.category('C'), {
      name: 'RangeError',
      message: /category C .*limit of 2 categories.*limits\.maxCategories/,
    });
    assert.equal(gate.category('A'), a);
    attachment.detach();
    assert.equal(gate.category('C').name, 'C');
  });

  test('4096 categories work each by itself, and no control plane can raise that', () => {
    const gate = new GateCore();
    const attachment = gate.attach(new RecordingController(10_000));
    const handles = Array.from({ length: 4096 }, (_, index) => gate.category(`C${index}`));
    assert.throws(() => gate.category('ONE_MORE'), {
      name: 'RangeError',
      message: /category ONE_MORE .*limit of 4096 categories/,
    });
    for (const index of [0, 31, 32, 63, 4064, 4095]) {
      attachment.setBase(index, true);
      assert.deepEqual(
        handles.filter((handle) => handle.enabled).map(({ name }) => name),
        [`C${index}`],
      );
      attachment.setBase(index, false);
    }
  });
});
