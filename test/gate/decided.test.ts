import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GateCore } from '../../src/gate/core.ts';
import { DROP, DROP_REASONS, type DropCode } from '../../src/gate/drops.ts';
import type { Controller } from '../../src/gate/types.ts';
import { tappedProcess } from '../emit/tapped.ts';
import fc from '../support/fast-check.ts';
import { RecordingController } from './controllers.ts';

type Outcome = DropCode | 'passes' | 'throws';

interface Line {
  /** What the logger's own level says; a source without levels says nothing. */
  readonly admitted: boolean | undefined;
  /** Logged while another call is emitted. */
  readonly nested: boolean;
  readonly outcome: Outcome;
}

/** A logger's lines where neither a tenant nor a tap makes a difference, counted per tenant, or beside a tap. */
function lineBench(way: 'for all' | 'per tenant' | 'tapped') {
  const gate = new GateCore();
  const outer = gate.category('OUTER');
  const logger = gate.category('LOGGER');
  let outcome: Outcome = 'passes';
  let inside: (() => void) | undefined;
  const controller = Object.assign(
    new RecordingController(4096, {
      emit: () => {
        inside?.();
        return undefined;
      },
      pass: () => {
        if (outcome === 'throws') throw new Error('cannot check');
        return outcome === 'passes' ? undefined : outcome;
      },
      ...(way === 'tapped' && {
        watchTaps: (listener: (index: number, on: boolean) => void) => {
          listener(1, true);
          return () => undefined;
        },
        tapped: () => true,
        tap: () => undefined,
      }),
    }),
    way === 'per tenant' ? { countsTenants: true } : {},
  ) satisfies Controller;
  const attachment = gate.attach(controller);
  attachment.setBase(0, true);
  const say = (line: Line): boolean => {
    outcome = line.outcome;
    const answers: boolean[] = [];
    const ask = () =>
      void answers.push(logger.passes({ bytes: 4, describe: () => ({ message: 'text' }) }, line.admitted));
    if (line.nested) {
      inside = ask;
      outer.debug('outer');
      inside = undefined;
    } else ask();
    assert.equal(answers.length, 1);
    return answers[0]!;
  };
  return {
    ...{ gate, attachment, controller },
    say: (line: Line) => (way === 'per tenant' ? gate.runWithTenant('acme', () => say(line)) : say(line)),
    counts: () => [gate.callsTotal(1), ...DROP_REASONS.map((reason) => gate.droppedTotal(1, reason))],
  };
}

const line: fc.Arbitrary<Line> = fc.record({
  admitted: fc.constantFrom(true, false, undefined),
  nested: fc.boolean(),
  outcome: fc.constantFrom<Outcome>('passes', 'throws', DROP.budget, DROP.process_budget),
});

test('lines are decided and counted alike for all, per tenant and beside a tap', () => {
  fc.assert(
    fc.property(fc.boolean(), fc.array(line, { maxLength: 12 }), (settled, lines) => {
      const [forAll, ...others] = (['for all', 'per tenant', 'tapped'] as const).map((way) => {
        const { attachment, controller, counts, gate, say } = lineBench(way);
        attachment.setBase(1, true, settled);
        const answers = lines.map(say);
        if (way === 'per tenant') assert.equal(gate.tenantCalls.total('acme', 1), gate.callsTotal(1));
        return { answers, counts: counts(), failures: controller.failures.length };
      });
      for (const other of others) assert.deepEqual(other, forAll);
    }),
    { numRuns: 200 },
  );
});

test('a line while another call is emitted, over the budget, or that cannot be checked is dropped and reported', () => {
  const { attachment, controller, counts, say } = lineBench('for all');
  attachment.setBase(1, true);
  const passing = { admitted: undefined, nested: false, outcome: 'passes' } as const;
  assert.equal(say(passing), true);
  assert.equal(say({ ...passing, nested: true }), false);
  assert.equal(say({ ...passing, outcome: DROP.budget }), false);
  assert.deepEqual(controller.failures, []);
  assert.equal(say({ ...passing, outcome: 'throws' }), false);
  assert.equal(say({ ...passing, outcome: 'throws' }), false);
  const [calls, ...dropped] = counts();
  assert.equal(calls, 5);
  assert.deepEqual(
    DROP_REASONS.filter((_reason, at) => dropped[at] !== 0).map((reason) => `${dropped[DROP[reason]]} ${reason}`),
    ['1 nested', '2 failed', '1 budget'],
  );
  assert.deepEqual(
    controller.failures.map(({ category, error }) => `${category}: ${(error as Error).message}`),
    ['LOGGER: cannot check'],
  );
  attachment.setBase(1, false);
  assert.equal(say(passing), false);
  assert.equal(counts()[0], 5, 'off: not even counted');
});

test('a tap that cannot say which lines it wants is reported once and costs no line', () => {
  const failing = new RecordingController(4096, {
    watchTaps: (listener) => {
      listener(0, true);
      return () => undefined;
    },
    tapped: ({ name }) => {
      throw new Error(`tap of ${name}`);
    },
    tap: () => undefined,
  });
  const gate = new GateCore();
  gate.attach(failing);
  const category = gate.category('LOGGER');
  assert.equal(category.allows(true), true);
  assert.equal(category.allows(false), false);
  assert.equal(category.passes({ bytes: 4, describe: () => ({ message: 'text' }) }, true), true);
  assert.deepEqual(
    failing.failures.map(({ error }) => (error as Error).message),
    ['tap of LOGGER'],
  );
});

const describe = (message = 'described') => ({ message, attributes: { password: 'hunter2' } });
const neverDescribed = () => assert.fail('was described');

test('a watcher hears each change of the interest bit of its own category, and at once that it is set', () => {
  const { gate, a, b, attachment } = tappedProcess();
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
  const decided = [() => attachment.suspend(true), () => attachment.suspend(false), () => attachment.detach()].map(
    (change) => {
      change();
      return a.decided;
    },
  );
  assert.deepEqual(heard, ['late true', 'late false', 'late true', 'late false']);
  assert.deepEqual(decided, [false, true, false], 'suspended, again, and detached');
  assert.equal(gate.category('B').wanted, false);
});

test('a watcher that throws is reported, and the others hear the change', () => {
  const { a, attachment, controller } = tappedProcess();
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
  const { a, attachment, tap, counts } = tappedProcess();
  assert.equal(a.passes({ bytes: 1, describe: neverDescribed }), false);
  attachment.setBase(0, true);
  assert.equal(a.passes({ bytes: 1, describe: neverDescribed }), true);
  const { taken, remove } = tap();
  assert.equal(a.passes({ bytes: 1, describe: () => describe('one') }), true);
  assert.equal(a.passes({ bytes: 1, describe: () => describe('two') }), false, 'over the budget');
  remove();
  assert.deepEqual(counts(), [3, 1, 0]);
  assert.deepEqual(
    taken.map(({ message, attributes }) => [message, attributes.password]),
    [
      ['one', '[redacted]'],
      ['two', '[redacted]'],
    ],
  );
});

test('a line whose description throws passes all the same, and is reported', () => {
  const { a, attachment, tap, controller } = tappedProcess();
  attachment.setBase(0, true);
  tap();
  const broken = () => {
    throw new Error('broken');
  };
  assert.equal(a.passes({ bytes: 1, describe: broken }), true);
  assert.equal(controller.failures.length, 1);
});

test('a changed default applies to a category that was never switched', () => {
  const { a, controller } = tappedProcess();
  a.setDefault(true);
  a.setDefault(true);
  a.setDefault(false);
  assert.deepEqual(controller.announced, ['A on', 'A off']);
});
