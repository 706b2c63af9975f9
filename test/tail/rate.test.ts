import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LineRate } from '../../src/tail/rate.ts';
import { network, receiver } from './network.ts';

const SILENT_MS = 50;

/** Lines that a category gets through when it writes as many as it can for a time. */
function through(rate: LineRate, seconds: number, ...categories: readonly string[]): Record<string, number> {
  const taken = Object.fromEntries(categories.map((name) => [name, 0]));
  for (let at = 0; at < seconds * 1000; at += SILENT_MS) {
    rate.refill(SILENT_MS);
    for (let call = 0; call < 1000; call++) for (const name of categories) if (rate.take(name)) taken[name]! += 1;
  }
  return taken;
}

test('a lone category, and one among silent ones, has the whole rate', () => {
  for (const categories of [['A'], ['A', 'B', 'C']]) {
    const rate = new LineRate(100, categories);
    through(rate, 1, 'A');
    const { A } = through(rate, 10, 'A');
    assert.ok(A! >= 998 && A! <= 1002, `${A} of ${categories}`);
  }
});

test('loud categories share the rate', () => {
  const rate = new LineRate(100, ['A', 'B']);
  through(rate, 1, 'A', 'B');
  const { A, B } = through(rate, 10, 'A', 'B');
  assert.ok(Math.abs(A! - B!) <= 20 && A! + B! <= 1002, `${A}, ${B}`);
});

test('never more than the lines of one second at once, whichever category was silent', () => {
  for (const speaking of [['A'], ['A', 'B'], ['A', 'B', 'C']]) {
    const rate = new LineRate(100, ['A', 'B', 'C']);
    through(rate, 5, 'A');
    for (let at = 0; at < 20; at++) rate.refill(1000);
    let taken = 0;
    for (let call = 0; call < 1000; call++) for (const name of speaking) if (rate.take(name)) taken += 1;
    assert.ok(taken <= 100, `${taken} by ${speaking}`);
  }
});

test('a rate of one line is one line, for however many categories', () => {
  const rate = new LineRate(1, ['A', 'B', 'C']);
  for (let at = 0; at < 10; at++) rate.refill(1000);
  const taken = through(rate, 10, 'C');
  assert.ok(taken.C! >= 9 && taken.C! <= 12, `${taken.C}`);
});

test('in a tail of two categories each process gives the quiet one its lines beside a flood of the other', async () => {
  const { time, process } = network();
  const options = { categories: ['DATABASE', 'QUIET'] };
  const [a, b] = [process('a', options), process('b', options)];
  const got = receiver();
  const running = a.relay.tail({ ...options, rate: 20, log: false }, got);
  await time.pass(50);
  for (const { database, gate } of [a, b]) {
    for (let call = 0; call < 1000; call++) database.debug('loud');
    gate.category('QUIET').debug('quiet');
  }
  await time.pass(50);
  running.end();
  const quiet = got.received.filter(({ message }) => message === 'quiet').map(({ instance }) => instance);
  assert.deepEqual(quiet.sort(), ['a', 'b']);
});
