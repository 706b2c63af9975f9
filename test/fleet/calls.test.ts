import assert from 'node:assert/strict';
import { test } from 'node:test';
import { announcedCalls } from '../../src/calls/metrics/called.ts';
import { AnnouncedCalls } from '../../src/control/fleet/calls.ts';
import type { Entry } from '../../src/control/fleet/roster.ts';
import { GateCore } from '../../src/gate/core.ts';
import { type CallFigures, isMemberCalls, type MemberCalls, NO_LINES } from '../../src/wire/member-calls.ts';
import { virtualTime } from '../support/virtual-time.ts';

const entry = (id: string, calls: MemberCalls | undefined): Entry => ({
  instance: { id, host: 'h', pid: 1, service: 's', startedAt: 0 },
  applied: undefined,
  heardAt: 0,
  goneAfter: 3500,
  calls,
  carriedOver: false,
});
const figures = (...list: readonly CallFigures[]): MemberCalls => ({ figures: list });
const SELF = entry('self', undefined);

test('the calls of the others are summed by category and tenant, and who was not counted is said', () => {
  const { clock } = virtualTime();
  const calls = new AnnouncedCalls(clock);
  calls.read([SELF], 'self');
  assert.deepEqual(calls.instances(), { of: 1, counted: 1 });
  calls.read(
    [
      SELF,
      entry('a', figures(['ORDERS', 5, 1], ['ORDERS', 2, 0.5, 'acme'])),
      entry('b', { ...figures(['ORDERS', 7, 2]), cut: true }),
      entry('of a release before', undefined),
    ],
    'self',
  );
  assert.deepEqual(calls.of('ORDERS'), { total: 12, rate: 3, seen: 0 });
  assert.deepEqual(calls.of('ORDERS', 'acme'), { total: 2, rate: 0.5, seen: 0 });
  assert.equal(calls.of('DATABASE'), undefined);
  assert.deepEqual(calls.instances(), { of: 4, counted: 2 });
});

test('what became of lines is summed over the others', () => {
  const calls = new AnnouncedCalls(virtualTime().clock);
  const lines = { SQL: { dropped: 3, written: 2, forgotten: 1, cut: 4 } };
  calls.read(
    [SELF, entry('a', { figures: [], lines }), entry('b', { figures: [], lines }), entry('c', undefined)],
    'self',
  );
  assert.deepEqual(calls.linesOf('SQL'), { dropped: 6, written: 4, forgotten: 2, cut: 8 });
  assert.deepEqual(calls.linesOf('ORDERS'), NO_LINES);
});

test('processes that come and go make no calls between two moments', () => {
  const calls = new AnnouncedCalls(virtualTime().clock);
  const reads = [
    [entry('a', figures(['ORDERS', 100, 1]))],
    [entry('a', figures(['ORDERS', 103, 1])), entry('b', figures(['ORDERS', 1_000_000, 1]))],
    [entry('b', figures(['ORDERS', 1_000_002, 1], ['SQL', 4, 1]))],
    [entry('b', { ...figures(['SQL', 5, 1]), cut: true })],
    [entry('b', figures(['ORDERS', 1_000_002, 1], ['SQL', 5, 1]))],
  ];
  const seen = reads.map((entries) => {
    calls.read([SELF, ...entries], 'self');
    return [calls.of('ORDERS')?.seen, calls.of('SQL')?.seen];
  });
  assert.deepEqual(seen, [
    [0, undefined],
    [3, undefined],
    [5, 4],
    [undefined, 5],
    [0, 5],
  ]);
});

test('figures that nobody has confirmed for as long as a process may be silent are no longer counted', async () => {
  const { clock, pass } = virtualTime();
  const calls = new AnnouncedCalls(clock);
  calls.read([SELF, entry('a', figures(['ORDERS', 5, 1]))], 'self');
  await pass(3501);
  assert.equal(calls.of('ORDERS'), undefined);
  assert.deepEqual(calls.instances(), { of: 2, counted: 1 });
});

test('an announcement has the categories that were called, and of too many the most frequent, and says so', () => {
  const gate = new GateCore();
  for (const name of ['QUIET', 'ORDERS', 'SQL']) gate.category(name);
  const totals = [0, 5, 9];
  const of = { callsTotal: (index: number) => totals[index]!, callsPerSecond: (index: number) => totals[index]! / 7 };
  const written = { ...NO_LINES, written: 2 };
  const linesOf = ({ index }: { index: number }) => (index === 1 ? written : NO_LINES);
  const options = { gate, own: { ...of, ofTenant: () => of, process: () => ({}) }, linesOf };
  const lines = { ORDERS: written };
  assert.deepEqual(announcedCalls(options, 4096), { ...figures(['ORDERS', 5, 0.714], ['SQL', 9, 1.286]), lines });
  assert.deepEqual(announcedCalls(options, 1), { ...figures(['SQL', 9, 1.286]), lines, cut: true });
});

test('figures of another shape are refused', () => {
  for (const value of [
    ...[null, 7, [], {}, { figures: {} }, { figures: [7] }, { figures: [], lines: { SQL: { dropped: 1 } } }],
    ...[
      ['orders', 1, 1],
      ['ORDERS', -1, 1],
      ['ORDERS', 1, '1'],
      ['ORDERS', 1e300, 1],
      ['ORDERS', 1, 1, 7],
    ].map((one) => ({ figures: [one] })),
  ]) {
    assert.equal(isMemberCalls(value), false, JSON.stringify(value));
  }
  assert.equal(isMemberCalls(figures(['ORDERS', 1, 0.5], ['ORDERS', 1, 0.5, 'acme'])), true);
});
