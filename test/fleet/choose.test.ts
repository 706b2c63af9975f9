import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { type Candidate, Choosing, choose } from '../../src/control/fleet/choosing.ts';
import type { Fleet } from '../../src/control/fleet/fleet.ts';
import { BEAT_MS, type Instance } from '../../src/store/fleet.ts';
import type { Instances } from '../../src/wire/target.ts';
import fc from '../support/fast-check.ts';
import { virtualTime } from '../support/virtual-time.ts';

const candidates = fc
  .uniqueArray(fc.uuid(), { minLength: 1, maxLength: 40 })
  .map((ids) => ids.map((id, pid): Candidate => ({ id, host: 'vm', pid, version: pid % 2 === 0 ? '1' : '2' })));
const choice = fc.string({ minLength: 1, maxLength: 12 });
const rule: fc.Arbitrary<Instances> = fc.oneof(
  fc.record({ count: fc.integer({ min: 1, max: 50 }) }),
  fc.record({ percent: fc.double({ min: 0.1, max: 100, noNaN: true }) }),
);
const categories: readonly string[] = [];

describe('the processes that are chosen', () => {
  it('are the same for every process, in whatever order it knows the fleet', () => {
    fc.assert(
      fc.property(candidates, choice, rule, fc.func(fc.integer()), (fleet, id, instances, keyOf) => {
        const shuffled = fleet.toSorted((a, b) => keyOf(a.id) - keyOf(b.id));
        const [one, other] = [fleet, shuffled].map((known) => choose({ id, categories, instances }, known).toSorted());
        assert.deepEqual(one, other);
      }),
    );
  });

  it('are exactly as many as counted, or all', () => {
    fc.assert(
      fc.property(candidates, choice, fc.integer({ min: 1, max: 50 }), (fleet, id, count) => {
        const chosen = choose({ id, categories, instances: { count } }, fleet);
        assert.equal(new Set(chosen).size, Math.min(count, fleet.length));
      }),
    );
  });

  it('are within one process of their share, and at least one', () => {
    fc.assert(
      fc.property(candidates, choice, fc.double({ min: 0.1, max: 100, noNaN: true }), (fleet, id, percent) => {
        const { length } = choose({ id, categories, instances: { percent } }, fleet);
        assert.ok(length >= 1 && Math.abs(length - (fleet.length * percent) / 100) < 1, `${length} of ${fleet.length}`);
      }),
    );
  });

  it('stay chosen when another process ends, and one takes the place of a chosen one', () => {
    fc.assert(
      fc.property(candidates, choice, fc.integer({ min: 1, max: 50 }), fc.nat(), (fleet, id, count, index) => {
        const instances = { count };
        const before = choose({ id, categories, instances }, fleet);
        const ended = fleet[index % fleet.length]!;
        const left = fleet.filter((each) => each !== ended);
        const after = new Set(choose({ id, categories, instances }, left));
        for (const each of before) if (each !== ended.id) assert.ok(after.has(each));
        assert.equal(after.size, Math.min(count, left.length));
      }),
    );
  });

  it('differ between choices, so that not every choice meets the same process', () => {
    const fleet = Array.from({ length: 8 }, (_, pid): Candidate => ({ id: `process-${pid}`, host: 'vm', pid }));
    const times = new Map<string, number>();
    for (let index = 0; index < 8000; index++) {
      const [chosen = ''] = choose({ id: `choice-${index}`, categories, instances: { count: 1 } }, fleet);
      times.set(chosen, (times.get(chosen) ?? 0) + 1);
    }
    // The standard deviation is 30.
    for (const { id } of fleet) assert.ok(Math.abs((times.get(id) ?? 0) - 1000) < 200, `${id}: ${times.get(id)} times`);
  });

  it('are those of these ids, by host and process id too, and of that version', () => {
    const fleet = ['a', 'b', 'c', 'd'].map(
      (id, pid): Candidate => ({ id, host: 'vm', pid, version: pid < 2 ? '1' : '2' }),
    );
    const chosen = (instances: Instances) => choose({ id: 'any', categories, instances }, fleet);
    assert.deepEqual(chosen({ ids: ['a', 'vm:2', 'gone'] }), ['a', 'c']);
    assert.deepEqual(chosen({ version: '2' }), ['c', 'd']);
    assert.deepEqual(chosen({ ids: ['a', 'c'], version: '2' }), ['c']);
    assert.deepEqual(chosen({ version: '3', count: 1 }), []);
    assert.equal(chosen({ version: '1', percent: 50 }).length, 1);
  });
});

test('a process reads the fleet at each beat where it is among the first or the eight next in line, else at each tenth', async () => {
  const fleet = Array.from(
    { length: 40 },
    (_, pid): Instance => ({
      id: `process-${pid}`,
      service: 'shop',
      host: 'vm',
      pid,
      version: '1',
      startedAt: 0,
    }),
  );
  const instances = { count: 1 };
  const order = choose({ id: 'c', categories, instances }, fleet, 38);
  for (const [place, reads] of [
    [0, 21],
    [8, 21],
    [9, 3],
    [38, 3],
  ] as const) {
    const { schedule, pass } = virtualTime();
    let count = 0;
    const summary: Fleet['summary'] = async () => {
      count += 1;
      return { revision: 1, instances: fleet.length, applied: fleet.length, pending: [] };
    };
    const self = () => fleet.find((each) => each.id === order[place]) as Instance;
    const choosing = new Choosing({ self, fleet: { candidates: () => fleet, summary }, schedule });
    const end = choosing.whileChosen({ id: 'c', categories, instances }, () => () => {});
    // The first read ends within the first beat.
    await pass(21 * BEAT_MS);
    assert.equal(count, reads, `the ${place + 1}th`);
    end();
  }
});
