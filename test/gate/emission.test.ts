import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GateCore } from '../../src/gate/core.ts';
import type { Attributes } from '../../src/gate/types.ts';
import { attached, emitting, RecordingController, span } from './controllers.ts';

describe('emitting a debug call', () => {
  test('goes to the sink with its attributes, and is counted', () => {
    const { gate, category, controller } = emitting();
    category.debug('plain');
    category.debug('object', { a: 1 });
    category.debug('function', () => ({ b: 2 }));
    assert.deepEqual(controller.emitted, [
      { category: 'A', message: 'plain', attributes: undefined },
      { category: 'A', message: 'object', attributes: { a: 1 } },
      { category: 'A', message: 'function', attributes: { b: 2 } },
    ]);
    assert.equal(category.enabled, true);
    assert.equal(gate.callsTotal(0), 3, 'asking whether it is on is not a call');
    assert.equal(gate.droppedTotal(0), 0);
  });

  test('does nothing while off: no attribute function runs, nothing is counted', () => {
    const gate = new GateCore();
    const category = gate.category('A');
    const never = (): Attributes => assert.fail('ran while off');
    category.debug('nobody attached', never);
    const controller = new RecordingController();
    const attachment = gate.attach(controller);
    attachment.setBase(0, false);
    category.debug('off', never);
    attachment.setTenant('acme', 0, true);
    category.debug('on for a tenant alone', never);
    assert.deepEqual(controller.emitted, []);
    assert.equal(gate.callsTotal(0), 0);
    assert.equal(gate.droppedTotal(0), 0);
  });

  test('what went wrong with the attributes is reported once, and the call counts as emitted', () => {
    const error = new Error('no attributes');
    const messages: string[] = [];
    const { category, controller, counts } = emitting({
      emit: (_category, message) => {
        messages.push(message);
        return message === 'fine' ? undefined : { error };
      },
    });
    for (const message of ['one', 'two', 'fine']) category.debug(message);
    assert.deepEqual(controller.failures, [{ category: 'A', error }]);
    assert.deepEqual(messages, ['one', 'two', 'fine']);
    assert.deepEqual(counts(), [3, 0]);
  });

  test('a throwing sink is reported once per category, and its calls are calls that were dropped', () => {
    const gate = new GateCore();
    const controller = new RecordingController(4096, {
      emit: () => {
        throw new Error('no sink');
      },
    });
    const attachment = gate.attach(controller);
    for (const name of ['A', 'B']) attachment.setBase(gate.category(name) && gate.categories().length - 1, true);
    for (const name of ['A', 'B', 'A', 'B']) gate.category(name).debug('m');
    assert.deepEqual(
      controller.failures.map(({ category }) => category),
      ['A', 'B'],
    );
    assert.deepEqual([gate.callsTotal(0), gate.droppedTotal(0), gate.droppedTotal(0, 'failed')], [2, 2, 2]);
  });

  test('a reporter that throws as well does not reach the application', () => {
    const { category, controller, counts } = emitting();
    controller.failed = () => {
      throw new Error('no reporter');
    };
    category.debug('m', () => {
      throw new Error('no attributes');
    });
    category.debug('n');
    assert.deepEqual(counts(), [2, 1]);
  });

  test('a sink, an attribute function or a reporter that debugs is cut, not followed for ever', () => {
    const { category, controller, counts } = emitting({
      emit: (_category, _message, given) => {
        category.debug('from the sink');
        try {
          if (typeof given === 'function') given();
          return undefined;
        } catch (error) {
          return { error };
        }
      },
    });
    controller.failed = () => category.debug('from the reporter');
    category.debug('m');
    assert.deepEqual(counts(), [2, 1]);
    category.debug('m', () => {
      category.debug('from the attributes');
      throw new Error('reported');
    });
    assert.deepEqual(counts(), [6, 4]);
    category.debug('m');
    assert.deepEqual(counts(), [8, 5]);
  });

  test('a span asked for inside an emission runs bare', () => {
    const { gate, category, controller } = emitting();
    category.debug('m', () => ({ result: category.span('inner', (given) => given === undefined) }));
    assert.deepEqual(controller.emitted[0]?.attributes, { result: true });
    assert.deepEqual(controller.spans, []);
    assert.deepEqual([gate.callsTotal(0), gate.droppedTotal(0, 'nested')], [2, 1]);
  });

  test('detaching while emitting harms nothing', () => {
    const { gate, category, attachment } = emitting({
      emit: () => {
        attachment.detach();
        return undefined;
      },
    });
    category.debug('last');
    category.debug('after');
    assert.equal(gate.callsTotal(0), 1);
  });
});

describe('a traced function', () => {
  test('runs bare and without an argument while off', () => {
    const gate = new GateCore();
    const category = gate.category('A');
    assert.deepEqual(
      category.span('s', (...given) => given),
      [],
    );
    const error = new Error('its own');
    assert.throws(
      () =>
        category.span('s', () => {
          throw error;
        }),
      (thrown) => thrown === error,
    );
  });

  test('runs in a span of the sink while on, and is counted', () => {
    const { category, controller, counts } = emitting();
    assert.equal(
      category.span('s', (given) => given),
      span,
    );
    assert.deepEqual(controller.spans, ['A s']);
    assert.deepEqual(counts(), [1, 0]);
  });

  test('may debug and trace itself', () => {
    const { category, controller, counts } = emitting();
    category.span('outer', () => {
      category.debug('in outer');
      category.span('inner', () => category.debug('in inner'));
      category.debug('in outer again');
    });
    category.debug('after');
    assert.deepEqual(controller.spans, ['A outer', 'A inner']);
    assert.equal(controller.emitted.length, 4);
    assert.deepEqual(counts(), [6, 0]);
  });

  test('that calls itself gets nearly as deep as while off, and its innermost calls have no span', () => {
    const { category, controller, attachment } = attached();
    const deepest = () => {
      let depth = 0;
      const descend = (): void => {
        depth += 1;
        category.span('s', descend);
      };
      assert.throws(descend, RangeError);
      return depth;
    };
    deepest();
    const off = deepest();
    attachment.setBase(0, true);
    const on = deepest();
    assert.ok(on > 0.8 * off, `${on} calls deep, ${off} while off`);
    assert.equal(controller.spans.length, 64);
    category.span('after', () => {});
    assert.equal(controller.spans.length, 65);
  });

  test('gives its promise back as the sink returned it, and its later debug calls are emitted', async () => {
    const { category, controller } = emitting();
    const result = await category.span('s', async () => {
      await Promise.resolve();
      category.debug('later');
      return 7;
    });
    assert.equal(result, 7);
    assert.equal(controller.emitted.length, 1);
  });

  let later = () => {};
  const SINKS: Readonly<
    Record<string, readonly [span: <T>(fn: () => T) => T, counted: readonly [number, number], reported: number]>
  > = {
    'calls it': [(fn) => fn(), [1, 0], 0],
    'fails before it': [() => broken(), [1, 1], 1],
    'forgets it': [() => undefined as never, [1, 1], 0],
    'fails after it': [
      (fn) => {
        try {
          return fn();
        } finally {
          broken();
        }
      },
      [1, 0],
      1,
    ],
    'calls it twice': [(fn) => [fn(), fn()][1]!, [1, 0], 0],
    'catches its error': [
      (fn) => {
        try {
          return fn();
        } catch {
          return undefined as never;
        }
      },
      [1, 0],
      0,
    ],
    'fails, and calls it later': [
      (fn) => {
        later = fn;
        return broken();
      },
      [1, 1],
      1,
    ],
  };
  for (const [how, [sink, counted, reported]] of Object.entries(SINKS)) {
    test(`runs exactly once, with its own result or error, when the sink ${how}`, () => {
      for (const error of [undefined, new Error('its own')]) {
        const { category, controller, counts } = emitting({ span: (_category, _name, fn) => sink(fn) });
        let runs = 0;
        const call = () =>
          category.span('s', () => {
            runs += 1;
            if (error !== undefined) throw error;
            return runs;
          });
        if (error === undefined) assert.equal(call(), 1);
        else assert.throws(call, (thrown) => thrown === error);
        later();
        later = () => {};
        assert.equal(runs, 1);
        if (error === undefined) assert.deepEqual([counts(), controller.failures.length], [counted, reported]);
        category.debug('the gate is not stuck');
        assert.equal(controller.emitted.length, 1);
      }
    });
  }
});

function broken(): never {
  throw new Error('broken sink');
}
