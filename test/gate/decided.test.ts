import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GateCore } from '../../src/gate/core.ts';
import { RecordingController } from './controllers.ts';

/** A gate with one category, and what it says about lines that a logger admits by itself, or does not. */
function bench(enabled = false) {
  const gate = new GateCore();
  const passed: string[] = [];
  const controller = new RecordingController(4096, {
    pass: (_category, text) => {
      passed.push(text);
      return undefined;
    },
  });
  const attachment = gate.attach(controller);
  const category = gate.category('LOGGER', { enabled });
  attachment.setBase(0, enabled, false);
  const ask = () =>
    [true, false].map((admitted) => [
      category.allows(admitted),
      category.wanted ? category.passes('text', () => ({ message: 'text' }), 4, admitted) : 'not asked',
    ]);
  return { gate, attachment, category, passed, ask };
}

test('where nobody switched a category, the logger decides, and no budget is asked', () => {
  const off = bench();
  assert.equal(off.category.decided, false);
  assert.deepEqual(off.ask(), [
    [true, 'not asked'],
    [false, 'not asked'],
  ]);
  const on = bench(true);
  assert.deepEqual(on.ask(), [
    [true, true],
    [false, false],
  ]);
  assert.equal(on.gate.callsTotal(0), 1);
  assert.deepEqual(on.passed, []);
});

test('where somebody switched it, that decides', () => {
  const { attachment, category, ask, gate, passed } = bench(true);
  attachment.setBase(0, true);
  assert.equal(category.decided, true);
  assert.deepEqual(ask(), [
    [true, true],
    [true, true],
  ]);
  assert.equal(passed.length, 2);
  attachment.setBase(0, false);
  assert.deepEqual(ask(), [
    [false, 'not asked'],
    [false, 'not asked'],
  ]);
  assert.equal(gate.callsTotal(0), 2);
});

test("a tenant's override decides in the context of that tenant alone", () => {
  const { attachment, category, ask, gate } = bench(true);
  attachment.setTenant('acme', 0, false);
  assert.deepEqual(gate.runWithTenant('acme', ask), [
    [false, false],
    [false, false],
  ]);
  assert.equal(
    gate.runWithTenant('other', () => category.decided),
    false,
  );
  assert.deepEqual(gate.runWithTenant('other', ask), [
    [true, true],
    [false, false],
  ]);
});

test('nothing is decided while the control plane is suspended or has left', () => {
  const { attachment, category } = bench();
  attachment.setBase(0, false);
  attachment.suspend(true);
  assert.equal(category.decided, false);
  attachment.suspend(false);
  assert.equal(category.decided, true);
  attachment.detach();
  assert.equal(category.decided, false);
});
