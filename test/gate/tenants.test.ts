import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { GateCore } from '../../src/gate/core.ts';
import { TenantCallCounts } from '../../src/gate/tallies.ts';
import fc from '../support/fast-check.ts';
import { attached, attachOn, emitting, RecordingController } from './controllers.ts';

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
    const { gate } = emitting({}, { countsTenants: true });
    emitAll(gate);
    assert.equal(gate.callsTotal(0), 5);
    assert.deepEqual(
      ['acme', 'beta', 'gamma'].map((tenant) => gate.tenantCalls.total(tenant, 0)),
      [3, 1, 0],
    );
  });

  test('is everybody’s alone where they are not', () => {
    const { gate } = emitting();
    emitAll(gate);
    assert.equal(gate.callsTotal(0), 5);
    assert.deepEqual([...gate.tenantCalls.entries()], []);
  });

  test('is counted also when its sink threw or when it was cut, not when it was off', () => {
    const { gate, category, attachment } = emitting({}, { countsTenants: true });
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
    const told: (string | undefined)[] = [];
    const { gate } = emitting({
      emit: (_category, _message, _attributes, tenantId) => void told.push(tenantId),
      span: (_category, _name, fn, tenantId) => {
        told.push(tenantId);
        return fn();
      },
    });
    emitAll(gate);
    assert.deepEqual(told, [undefined, 'acme', 'acme', 'acme', 'beta']);
  });
});

describe('a tenant that only the controller knows', () => {
  function setUp(currentTenant: () => string | undefined) {
    let asked = 0;
    const hook = () => {
      asked += 1;
      return currentTenant();
    };
    return { ...attached({}, { countsTenants: true, currentTenant: hook }), asked: () => asked };
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

type Step =
  | { readonly kind: 'call'; readonly tenant: string; readonly category: number }
  | { readonly kind: 'mark'; readonly keep: number };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant('call' as const),
        tenant: fc.constantFrom('a', 'b', 'c'),
        category: fc.oneof(fc.nat({ max: 3 }), fc.nat({ max: 40 })),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('mark' as const), keep: fc.nat({ max: 3 }) }) },
  ),
  { maxLength: 200 },
);

describe('calls counted by tenant', () => {
  test('are at each mark what they were when it was made, whatever was called since', () => {
    fc.assert(
      fc.property(steps, (sequence) => {
        const counts = new TenantCallCounts();
        const model = new Map<string, number>();
        const marked = [new Map<string, number>()];
        let oldest = 0;
        for (const step of sequence) {
          if (step.kind === 'call') {
            counts.count(step.tenant, step.category);
            const key = `${step.tenant} ${step.category}`;
            model.set(key, (model.get(key) ?? 0) + 1);
          } else {
            oldest = Math.max(oldest, marked.length - 1 - step.keep);
            assert.equal(counts.mark(oldest), marked.length);
            marked.push(new Map(model));
          }
        }
        for (const tenant of ['a', 'b', 'c', 'never seen']) {
          for (let category = 0; category <= 40; category++) {
            const key = `${tenant} ${category}`;
            assert.equal(counts.total(tenant, category), model.get(key) ?? 0);
            for (let mark = oldest; mark < marked.length; mark++) {
              assert.equal(counts.totalAt(tenant, category, mark), marked[mark]?.get(key) ?? 0, `${key} at ${mark}`);
            }
          }
        }
        const entries = [...counts.entries()].map(([tenant, category, total]) => [`${tenant} ${category}`, total]);
        assert.deepEqual(new Map(entries as [string, number][]), model);
      }),
    );
  });

  test('are bounded in tenants: the one that emitted longest ago is evicted and starts at zero', () => {
    const counts = new TenantCallCounts(2);
    counts.count('a', 0);
    counts.count('b', 0);
    counts.mark(0);
    counts.count('a', 0);
    counts.count('c', 0);
    assert.deepEqual(
      ['a', 'b', 'c'].map((tenant) => counts.total(tenant, 0)),
      [2, 0, 1],
    );
    counts.count('b', 0);
    assert.deepEqual([...counts.entries()].length, 2);
    assert.equal(counts.total('b', 0), 1);
    assert.equal(counts.totalAt('b', 0, 1), 0);
  });
});

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
});

test('control planes one after the other calls go to the one that decides', () => {
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
