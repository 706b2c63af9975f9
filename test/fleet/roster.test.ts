import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRoster } from '../../src/fleet/roster.ts';
import { GONE_MS, type Instance, LOST_MS, type Position } from '../../src/store/fleet-store.ts';
import { virtualTime } from '../support/virtual-time.ts';

const instance = (id: string): Instance => ({ id, host: 'h', pid: 1, service: 's', startedAt: 0 });
const at = (revision: number, history = 'one'): Position => ({ history, revision });
const announced = (id: string, applied?: Position, silentFor = 0) => ({
  ...instance(id),
  silentFor,
  ...(applied && { applied }),
});

function start(own: Position | null = at(5)) {
  const time = virtualTime();
  const roster = createRoster({ self: () => instance('self'), applied: () => own ?? undefined, clock: time.clock });
  return { time, roster };
}

test('this process counts although the store does not list it, by what it knows of itself', () => {
  const { roster } = start(at(5));
  assert.deepEqual(roster.summary(at(5)), { revision: 5, instances: 1, applied: 1, pending: [] });
  roster.saw({ current: at(5), instances: [announced('self', at(2))] });
  assert.deepEqual(roster.summary(at(5)), { revision: 5, instances: 1, applied: 1, pending: [] });
  assert.deepEqual(start(null).roster.summary(at(0)).pending, ['self']);
});

test('who has not applied the revision is pending, and so is who has applied nothing', () => {
  const { roster } = start();
  roster.saw({ current: at(5), instances: [announced('c', at(4)), announced('b'), announced('a', at(6))] });
  assert.deepEqual(roster.summary(at(5)), { revision: 5, instances: 4, applied: 2, pending: ['b', 'c'] });
});

test('a position of another history is none, however high', () => {
  const { roster } = start(at(9, 'lost'));
  roster.saw({ current: at(5), instances: [announced('a', at(9, 'lost'))] });
  assert.deepEqual(roster.summary(at(5)).pending, ['a', 'self']);
});

test('an instance is there until it was silent for too long, or a look misses it', async () => {
  const { roster, time } = start();
  roster.saw({ current: at(5), instances: [announced('a', at(5), 1_000), announced('b', at(5))] });
  await time.pass(GONE_MS - 1_000);
  assert.equal(roster.summary(at(5)).instances, 3);
  await time.pass(1);
  assert.equal(roster.summary(at(5)).instances, 2);
  roster.saw({ current: at(5), instances: [] });
  assert.equal(roster.summary(at(5)).instances, 1);
});

test('an instance that announces itself less often is there for longer, which the summary says', async () => {
  const { roster, time } = start();
  const seldom = { ...announced('a', at(5)), goneAfter: 60_500 };
  roster.saw({ current: at(5), instances: [seldom, announced('b', at(5))] });
  await time.pass(60_500);
  const { instances, goneAfterSeconds } = roster.summary(at(5));
  assert.deepEqual([instances, goneAfterSeconds], [2, 61]);
  await time.pass(1);
  assert.deepEqual(roster.summary(at(5)), { revision: 5, instances: 1, applied: 1, pending: [] });
  roster.saw({ current: at(5), instances: [{ ...seldom, silentFor: 60_501 }] });
  assert.deepEqual(
    roster.lost().map(({ instance: { id } }) => id),
    ['a'],
  );
});

test('an instance that was silent for too long is lost, does not count, and returns when it announces itself', () => {
  const { roster } = start();
  roster.saw({ current: at(5), instances: [announced('a', at(4), GONE_MS + 1), announced('b', at(5), LOST_MS)] });
  assert.deepEqual(roster.summary(at(5)), { revision: 5, instances: 1, applied: 1, pending: [] });
  assert.deepEqual(
    roster.lost().map(({ instance: { id } }) => id),
    ['a', 'b'],
  );
  roster.saw({ current: at(6, 'two'), instances: [announced('a', at(5))] });
  assert.deepEqual([roster.summary(at(5)).instances, roster.lost()], [2, []]);
});

test('after the store lost its list with its history, processes stay listed until they could announce themselves', async () => {
  const { roster, time } = start(at(0, 'two'));
  roster.saw({ current: at(5), instances: [announced('a', at(5)), announced('b', at(5))] });
  await time.pass(60_000);
  roster.saw({ current: at(0, 'two'), instances: [announced('a', at(0, 'two'))] });
  assert.deepEqual(roster.summary(at(0, 'two')), { revision: 0, instances: 3, applied: 2, pending: ['b'] });
  await time.pass(GONE_MS);
  roster.saw({ current: at(0, 'two'), instances: [announced('a', at(0, 'two'))] });
  assert.equal(roster.summary(at(0, 'two')).instances, 3, 'it has just as long as any other');
  await time.pass(1);
  roster.saw({ current: at(0, 'two'), instances: [announced('a', at(0, 'two'))] });
  assert.equal(roster.summary(at(0, 'two')).instances, 2);
});
