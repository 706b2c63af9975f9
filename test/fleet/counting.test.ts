import assert from 'node:assert/strict';
import { test } from 'node:test';
import { announcedCalls } from '../../src/calls/metrics/called.ts';
import { AnnouncedCalls } from '../../src/control/fleet/calls.ts';
import { createFleet } from '../../src/control/fleet/fleet.ts';
import type { Entry } from '../../src/control/fleet/roster.ts';
import { GateCore } from '../../src/gate/core.ts';
import type { FleetStore, Instance } from '../../src/store/fleet.ts';
import type { Position } from '../../src/store/state-store.ts';
import { type CallFigures, isMemberCalls, type MemberCalls, NO_LINES } from '../../src/wire/member-calls.ts';
import { settled, virtualTime } from '../support/virtual-time.ts';

const TIMEOUT_MS = 2000;
const self: Instance = { id: 'self', host: 'h', pid: 1, service: 's', startedAt: 0 };
const at = (revision: number, history = 'one'): Position => ({ history, revision });

interface Other {
  readonly id: string;
  readonly applied: Position;
  readonly silentFor?: number;
  readonly startedAt?: number;
  readonly calls?: MemberCalls;
}

const others = (number: number, applied: Position): Other[] =>
  Array.from({ length: number }, (_, index) => ({ id: `${index}`, applied }));

/** A process of a fleet, with the others that the test sets. */
function start(instances: readonly Other[] = others(3, at(0))) {
  const time = virtualTime();
  const state = { current: at(1), instances, goneAfter: 3500, beatMs: 1000, fails: false };
  const seen = { announced: 0, read: 0, looked: 0 };
  let announced = () => {};
  const view = () => {
    if (state.fails) throw new Error('away');
    const { current, goneAfter } = state;
    return { current, instances: state.instances.map((each) => ({ silentFor: 0, goneAfter, ...each })) };
  };
  const store: FleetStore = {
    position: () => state.current,
    onMoved: (listener) => {
      announced = listener;
      return () => {};
    },
    announce: async () => {
      seen.announced += 1;
      if (state.fails) throw new Error('away');
    },
    beatMs: () => state.beatMs,
    withdraw: async () => {},
    heartbeats: async () => {
      seen.read += 1;
      return view();
    },
    look: async () => {
      seen.looked += 1;
      const { current, instances } = view();
      return { current, instances: instances.map((each) => ({ ...self, ...each })) };
    },
    hasEnded: () => false,
    categories: { publish: async () => {}, read: async () => new Map() },
  };
  const fleet = createFleet({
    store,
    self: () => self,
    categories: () => [],
    calls: () => ({ figures: [] }),
    controlsEnd: () => undefined,
    sourceOf: () => undefined,
    malformed: () => {},
    others: () => {},
    current: () => true,
    acknowledgeTimeoutMs: TIMEOUT_MS,
    random: () => 0,
    ...time,
  });
  fleet.start();
  return { time, state, seen, fleet, announced: () => announced() };
}

test('a change is acknowledged once all have applied it, and what they are is not read', async () => {
  const { time, state, seen, fleet, announced } = start();
  await settled();
  const answer = fleet.acknowledged(at(1));
  await time.pass(11);
  const before = seen.read;
  state.instances = others(3, at(1));
  announced();
  assert.deepEqual(await answer, { revision: 1, instances: 4, applied: 4, pending: [] });
  assert.deepEqual([seen.read, seen.looked], [before + 1, 0]);
});

test('the numbers and names of an answer are of one reading, the last one that succeeded', async () => {
  const late = [...others(1, at(1)), { id: 'late', applied: at(0) }];
  for (const fails of [false, true]) {
    const { time, state, fleet } = start(late);
    await settled();
    const answer = fleet.acknowledged(at(1));
    await time.pass(TIMEOUT_MS - 100);
    state.fails = fails;
    await time.pass(100);
    assert.deepEqual(await answer, { revision: 1, instances: 3, applied: 2, pending: ['late'] });
  }
});

test('who has applied a change is not known while the store cannot be read', async () => {
  const { time, state, fleet } = start();
  state.fails = true;
  const answer = fleet.acknowledged(at(1));
  await time.pass(TIMEOUT_MS);
  assert.equal(await answer, undefined);
});

test('a process that is not heard of is named at once, and is not waited for', async () => {
  const { time, fleet } = start([
    { id: 'done', applied: at(1) },
    { id: 'silent', applied: at(1), silentFor: 10_000 },
  ]);
  await settled();
  const answer = fleet.acknowledged(at(1));
  await time.pass(11);
  assert.deepEqual(await answer, {
    revision: 1,
    instances: 3,
    applied: 2,
    pending: ['silent'],
    lastSeen: { silent: '2025-12-31T23:59:50.000Z' },
  });
});

test('a store that lost its list has not made the change acknowledged', async () => {
  const { time, state, fleet } = start();
  await settled();
  Object.assign(state, { current: at(1, 'two'), instances: others(1, at(1, 'two')) });
  const early = fleet.acknowledged(at(1, 'two'));
  await time.pass(TIMEOUT_MS);
  assert.equal(await early, undefined);
  await time.pass(state.goneAfter);
  const later = fleet.acknowledged(at(1, 'two'));
  await time.pass(100);
  assert.deepEqual(await later, { revision: 1, instances: 2, applied: 2, pending: [] });
});

test('in a large fleet a process announces itself as often as the store says, and the answer says when one is gone', async () => {
  const { time, state, seen, fleet } = start();
  await time.pass(5000);
  assert.equal(seen.announced, 6);
  Object.assign(state, { beatMs: 30_000, goneAfter: 90_500, instances: others(3, at(1)) });
  await time.pass(31_000);
  const before = seen.announced;
  await time.pass(300_000);
  const rate = seen.announced - before;
  assert.ok(rate >= 10 && rate <= 13, `${rate} in 300 s`);
  const answer = fleet.acknowledged(at(1));
  await time.pass(100);
  assert.equal((await answer)?.goneAfterSeconds, 91);
});

test('a process of a large fleet whose announcement failed tries again each second', async () => {
  const { time, state, seen } = start();
  state.beatMs = 30_000;
  await time.pass(2000);
  state.fails = true;
  await time.pass(31_000);
  const before = seen.announced;
  await time.pass(5000);
  assert.ok(seen.announced - before >= 4, `${seen.announced - before}`);
});

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
    [5, 5],
    [5, 5],
  ]);
});

test('figures that nobody has confirmed for as long as a process may be silent are no longer counted', async () => {
  const { clock, pass } = virtualTime();
  const calls = new AnnouncedCalls(clock);
  calls.read([SELF, entry('a', figures(['ORDERS', 5, 1]))], 'self');
  await pass(3501);
  assert.deepEqual(calls.of('ORDERS'), { total: 0, rate: 0, seen: 0 });
  assert.deepEqual(calls.instances(), { of: 2, counted: 1 });
});

test('an outage of the store makes no calls: neither those before it nor those in it are seen at its end', async () => {
  const { clock, pass } = virtualTime();
  const calls = new AnnouncedCalls(clock);
  const read = (total: number) => calls.read([SELF, entry('a', figures(['ORDERS', total, 1]))], 'self');
  const seen = () => calls.of('ORDERS')?.seen;
  read(1000);
  await pass(1000);
  read(1005);
  assert.equal(seen(), 5);
  await pass(60_000);
  assert.equal(seen(), 5);
  read(1300);
  assert.equal(seen(), 5);
  await pass(1000);
  read(1304);
  assert.equal(seen(), 9);
});

test('without a reader a sample sees the calls of the others, but none of an outage; a large fleet reads nothing for it', async () => {
  const { time, state, seen, fleet } = start();
  const sampleAfter = async (milliseconds: number, total: number) => {
    await time.pass(milliseconds);
    state.fails = false;
    state.instances = [{ id: 'a', applied: at(0), calls: figures(['ORDERS', total, 1]) }];
    await time.pass(1000);
    await fleet.sample();
    return fleet.calls.of('ORDERS')?.seen;
  };
  assert.equal(await sampleAfter(0, 1000), 0);
  assert.equal(await sampleAfter(14_000, 1500), 500);
  state.fails = true;
  assert.equal(await sampleAfter(10_000, 1900), 500);
  assert.equal(await sampleAfter(14_000, 1901), 501);
  await time.pass(10_000);
  state.instances = [{ id: 'new', startedAt: time.clock.now(), applied: at(0), calls: figures(['ORDERS', 7, 1]) }];
  await fleet.sample();
  assert.equal(fleet.calls.of('ORDERS')?.seen, 508, 'a process that has started since');
  state.beatMs = 3000;
  const before = seen.looked;
  await fleet.sample();
  assert.equal(seen.looked, before);
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
