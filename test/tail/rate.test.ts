import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LineRate } from '../../src/calls/tail/rate.ts';
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

test('a burst below the rate comes through whole beside silent categories, and leaves lines for the next to write', () => {
  const names = Array.from({ length: 20 }, (_, at) => `C${at}`);
  const rate = new LineRate(100, names);
  const burst = (name: string, lines: number) => Array.from({ length: lines }, () => rate.take(name)).filter(Boolean);
  for (let second = 0; second < 3; second++) {
    assert.equal(burst('C0', 60).length, 60);
    assert.equal(burst('C1', 10).length, 10);
    for (let at = 0; at < 1000; at += SILENT_MS) rate.refill(SILENT_MS);
  }
  assert.ok(burst('C0', 1000).length >= 80);
  assert.equal(burst('C1', 9).length, 9, 'one that took little keeps its lines beside a flood');
});

test('loud categories share the rate, each at least the reserve', () => {
  const rate = new LineRate(100, ['A', 'B']);
  through(rate, 1, 'A', 'B');
  const { A, B } = through(rate, 10, 'A', 'B');
  assert.ok(Math.min(A!, B!) >= 200 && A! + B! >= 998 && A! + B! <= 1002, `${A}, ${B}`);
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
