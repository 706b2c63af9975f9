import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { TenantCallCounts } from '../../src/gate/tallies.ts';
import fc from '../support/fast-check.ts';

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

  test('of a tenant with many categories keep their own totals, at each mark too', () => {
    const counts = new TenantCallCounts();
    for (let round = 1; round <= 2; round++) {
      for (let category = 0; category < 60; category++) counts.count('a', category, category + 1);
      counts.mark(0);
    }
    for (let category = 0; category < 60; category++) {
      assert.equal(counts.total('a', category), 2 * (category + 1));
      assert.equal(counts.totalAt('a', category, 1), category + 1);
    }
    assert.equal(counts.total('a', 60), 0);
    assert.deepEqual([...counts.entries()].slice(-1), [['a', 59, 120]]);
  });
});
