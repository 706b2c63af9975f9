import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Board, Calls } from '../../src/control/cluster/board.ts';
import { shareCalls } from '../../src/control/cluster/calls.ts';
import { GateCore } from '../../src/gate/core.ts';
import { virtualTime } from '../support/virtual-time.ts';

const ORDERS = { tenant: '', category: 'ORDERS' };

/** Two categories, of which one was called, and a board that keeps what it is given. */
function sharing(board: Partial<Board> | null = {}) {
  const gate = new GateCore();
  for (const name of ['ORDERS', 'QUIET']) gate.category(name);
  const time = virtualTime();
  const published: Calls[][] = [];
  const own = { total: 5, rate: 1 };
  let reads = 0;
  const calls = { callsTotal: (index: number) => (index === 0 ? own.total : 0), callsPerSecond: () => own.rate };
  const whole = {
    publishCalls: (changed: readonly Calls[]) => void published.push([...changed]),
    callsOfOthers: () => {
      reads += 1;
      return new Map([['ORDERS', { total: 7, rate: 2 }]]);
    },
    ...board,
  } as Board;
  const shared = shareCalls({
    cluster: { board: board === null ? undefined : whole },
    own: { ...calls, ofTenant: () => calls, process: () => ({ heapUsed: 1 }) },
    gate,
    clock: time.clock,
    schedule: time.schedule,
  });
  return { shared, published, own, time, reads: () => reads };
}

it('the calls of a cluster are ours and those of the others, which are read once for an answer', async () => {
  const { shared, time, reads } = sharing();
  const orders = { index: 0, name: 'ORDERS' };
  assert.deepEqual(shared.callsOf(orders), { callsTotal: 12, callsPerSecond: 3 });
  assert.equal(shared.callsOf({ index: 1, name: 'QUIET' }).callsTotal, 0);
  assert.deepEqual(shared.callsOf({ name: 'ORDERS' }), { callsTotal: 7, callsPerSecond: 2 });
  assert.equal(reads(), 1);
  await time.pass(100);
  assert.equal(shared.callsOf(orders, ['acme']).callsTotal, 12);
  assert.equal(reads(), 2);
  assert.deepEqual(shared.process(), { heapUsed: 1 });
});

it('only what has changed is published, a rate that sank once a second, and all of it at the end', async () => {
  const { shared, published, own, time } = sharing();
  await time.pass(400);
  assert.deepEqual(published, [[{ ...ORDERS, total: 5, rate: 1 }], []]);
  own.rate = 0;
  await time.pass(600);
  assert.deepEqual(published.flat().slice(1), [{ ...ORDERS, total: 5, rate: 0 }]);
  own.total = 6;
  shared.close();
  assert.deepEqual(published.at(-1), [{ ...ORDERS, total: 6, rate: 0 }]);
});

it('without a cluster, or with a board that fails, the own calls remain', async () => {
  const fails = () => {
    throw new Error('disk I/O error');
  };
  for (const board of [null, { publishCalls: fails, callsOfOthers: fails }]) {
    const { shared, time } = sharing(board);
    await time.pass(200);
    assert.equal(shared.callsOf({ index: 0, name: 'ORDERS' }).callsTotal, 5);
    shared.close();
  }
});
