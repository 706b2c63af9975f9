import assert from 'node:assert/strict';
import { test } from 'node:test';
import { budgetsOf } from '../../src/calls/emit/budgets.ts';
import type { Call } from '../../src/calls/emit/record.ts';
import { GateCore } from '../../src/gate/core.ts';
import { parseConfig } from '../../src/options/config.ts';
import { createTelemetry } from '../../src/otel/telemetry.ts';
import { sinkOf } from '../support/sink.ts';
import { RecordingController } from './controllers.ts';

/** Two categories that are off, with a budget of two calls a second. */
function bench() {
  const sink = sinkOf({
    telemetry: createTelemetry(),
    clock: { now: () => 0 },
    writeLine: () => assert.fail('wrote a line of its own'),
    to: 'stderr',
    budget: budgetsOf(parseConfig({ controls: { budget: { callsPerSecond: 2, burst: 2 } } }).controls.budget),
  });
  const gate = new GateCore();
  const [a, b] = [gate.category('A'), gate.category('B')];
  const controller = new RecordingController(4096, sink);
  const attachment = gate.attach(controller);
  function tap() {
    const taken: Call[] = [];
    const remove = sink.addTap(gate.categories()[0]!, {
      matches: () => true,
      admits: () => true,
      take: (_category, call) => taken.push(call),
    });
    return { taken, remove };
  }
  const counts = () => [gate.callsTotal(0), gate.droppedTotal(0)];
  return { gate, a, b, controller, attachment, tap, counts };
}

const describe = (message = 'described') => ({ message, attributes: { password: 'hunter2' } });
const neverDescribed = () => assert.fail('was described');

test('a watcher hears each change of the interest bit of its own category, and at once that it is set', () => {
  const { gate, a, b, attachment } = bench();
  const heard: string[] = [];
  const watch = (name: string, category = a) => category.onWanted((wanted) => heard.push(`${name} ${wanted}`));
  const stop = watch('a');
  watch('b', b);
  assert.deepEqual(heard, []);
  attachment.setBase(0, true);
  attachment.setTenant('acme', 0, true);
  watch('late');
  attachment.setBase(0, false);
  assert.deepEqual(heard.splice(0), ['a true', 'late true']);
  attachment.setTenant('acme', 0, undefined);
  assert.deepEqual(heard.splice(0), ['a false', 'late false']);
  stop();
  stop();
  attachment.setBase(0, true);
  attachment.suspend(true);
  attachment.suspend(false);
  attachment.detach();
  assert.deepEqual(heard, ['late true', 'late false', 'late true', 'late false']);
  assert.equal(gate.category('B').wanted, false);
});

test('a watcher that throws is reported, and the others hear the change', () => {
  const { a, attachment, controller } = bench();
  let heard = 0;
  a.onWanted(() => {
    throw new Error('broken');
  });
  a.onWanted(() => {
    heard += 1;
  });
  attachment.setBase(0, true);
  assert.deepEqual([heard, controller.failures.map(({ category }) => category)], [1, ['A']]);
});

test('a line passes while its category is on: counted, limited by the budget, and described for taps alone', () => {
  const { a, attachment, tap, counts } = bench();
  assert.equal(a.passes({ bytes: 1, describe: neverDescribed }), false);
  attachment.setBase(0, true);
  assert.equal(a.passes({ bytes: 1, describe: neverDescribed }), true);
  const { taken, remove } = tap();
  assert.equal(a.passes({ bytes: 1, describe: () => describe('one') }), true);
  assert.equal(a.passes({ bytes: 1, describe: () => describe('two') }), false, 'over the budget');
  remove();
  assert.deepEqual(counts(), [3, 1]);
  assert.deepEqual(
    taken.map(({ message, attributes }) => [message, attributes.password]),
    [
      ['one', '[redacted]'],
      ['two', '[redacted]'],
    ],
  );
});

test('a line of a tapped category that is off goes to the taps, is not counted and does not pass', () => {
  const { a, tap, counts } = bench();
  const { taken } = tap();
  assert.equal(a.passes({ bytes: 1, describe: () => describe() }), false);
  assert.deepEqual([taken.length, ...counts()], [1, 0, 0]);
});

test('a line passes for the tenant that has it on, and for no other', () => {
  const { gate, a, attachment, counts } = bench();
  attachment.setTenant('acme', 0, true);
  const passes = (tenant: string) => gate.runWithTenant(tenant, () => a.passes({ bytes: 1, describe: neverDescribed }));
  assert.deepEqual(
    [passes('acme'), passes('beta'), a.passes({ bytes: 1, describe: neverDescribed })],
    [true, false, false],
  );
  assert.deepEqual(counts(), [1, 0]);
});

test('a line whose description throws passes all the same, and is reported', () => {
  const { a, attachment, tap, controller } = bench();
  attachment.setBase(0, true);
  tap();
  const broken = () => {
    throw new Error('broken');
  };
  assert.equal(a.passes({ bytes: 1, describe: broken }), true);
  assert.equal(controller.failures.length, 1);
});

test('a line that is made while another one is emitted is dropped', () => {
  const { a, b, attachment, tap, counts } = bench();
  attachment.setBase(0, true);
  attachment.setBase(1, true);
  tap();
  const inner: boolean[] = [];
  a.passes({
    bytes: 5,
    describe: () => {
      inner.push(b.passes({ bytes: 5, describe: neverDescribed }));
      return describe();
    },
  });
  assert.deepEqual([inner, ...counts()], [[false], 1, 0]);
});

test('a changed default applies to a category that was never switched', () => {
  const { a, controller } = bench();
  a.setDefault(true);
  a.setDefault(true);
  a.setDefault(false);
  assert.deepEqual(controller.announced, ['A on', 'A off']);
});
