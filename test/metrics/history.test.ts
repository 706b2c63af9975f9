import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CallHistory } from '../../src/calls/metrics/history.ts';

function start(calls: Record<string, number>) {
  const state = { now: 0, calls };
  const counted = () => Object.entries(state.calls);
  const history = new CallHistory({ counted, clock: { monotonic: () => state.now } });
  const step = (seconds: number, now: Record<string, number>) => {
    state.now += seconds * 1000;
    state.calls = { ...state.calls, ...now };
  };
  return { state, history, step };
}

test('the history of calls has a rate for each step, and one for the running step', () => {
  const { history, step } = start({ ORDERS: 100, QUIET: 7 });
  step(16, { ORDERS: 100 });
  history.sample();
  step(15, { ORDERS: 130, LATER: 15 });
  history.sample();
  step(9, { ORDERS: 160 });
  const { secondsAgo, categories } = history.read();
  assert.deepEqual(secondsAgo, [40, 24, 9]);
  assert.deepEqual(Object.fromEntries(categories), { ORDERS: [0, 2, 30 / 9], LATER: [0, 1, 0] });
});

test('the history of calls is of 15 minutes, and keeps no category that was quiet for as long', () => {
  const { history, step } = start({ ORDERS: 0, QUEUE: 0 });
  step(15, { ORDERS: 15, QUEUE: 30 });
  for (let minutes = 0; minutes < 15; minutes += 1) {
    for (let each = 0; each < 4; each += 1) {
      history.sample();
      step(15, {});
    }
  }
  assert.deepEqual([...history.read().categories.keys()], ['ORDERS', 'QUEUE']);
  step(0, { QUEUE: 60 });
  history.sample();
  step(15, {});
  const { secondsAgo, categories } = history.read();
  assert.equal(secondsAgo.length, 61);
  assert.deepEqual([...categories.keys()], ['QUEUE']);
  assert.deepEqual(categories.get('QUEUE')?.slice(-3), [0, 2, 0]);
});

test('calls of a process that has gone are none that are taken back', () => {
  const { history, step } = start({ ORDERS: 1000 });
  step(15, { ORDERS: 200 });
  history.sample();
  step(10, { ORDERS: 210 });
  assert.deepEqual(history.read().categories.get('ORDERS'), [0, 1]);
});
