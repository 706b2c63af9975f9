import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { CallHistory } from '../../src/calls/metrics/history.ts';
import { createRates, createTenantRates } from '../../src/calls/metrics/rates.ts';
import { TenantCallCounts } from '../../src/gate/tallies.ts';
import type { CategoryDescriptor } from '../../src/gate/types.ts';
import fc from '../support/fast-check.ts';

const WINDOW_SECONDS = 60;
const WINDOW_MS = WINDOW_SECONDS * 1000;

/** Slots and a clock that the test moves by hand. */
function bench({ startedAt = 0, cpu = () => 0 }: { startedAt?: number; cpu?: () => number } = {}) {
  const descriptors: CategoryDescriptor[] = [];
  const totals: number[] = [];
  let now = startedAt;
  const gate = { categories: () => descriptors, callsTotal: (index: number) => totals[index] ?? 0 };
  const make = () =>
    createRates({ gate, clock: { monotonic: () => now }, windowSeconds: WINDOW_SECONDS, cpuMicroseconds: cpu });
  return {
    make,
    register(name: string) {
      descriptors.push({ index: descriptors.length, name, description: '', defaultEnabled: false });
      totals.push(0);
    },
    call(index: number, times = 1) {
      totals[index] = (totals[index] ?? 0) + times;
    },
    pass(milliseconds: number) {
      now += milliseconds;
    },
    now: () => now,
  };
}

describe('call rates', () => {
  it('are zero before any time has passed', () => {
    const { make, register, call } = bench();
    register('A');
    const rates = make();
    call(0, 5);
    assert.equal(rates.callsPerSecond(0), 0);
  });

  it('count a category that was registered later as uncalled before', () => {
    const { make, register, call, pass } = bench();
    const rates = make();
    for (let second = 0; second < 70; second++) {
      pass(1000);
      rates.sample();
    }
    register('LATE');
    call(0, 120);
    assert.equal(rates.callsPerSecond(0), 2);
  });

  it('leave out what was called before measuring began in an older process', () => {
    const { make, register, call, pass } = bench({ startedAt: 3_600_000 });
    register('A');
    call(0, 1_000_000);
    const rates = make();
    pass(1000);
    call(0, 60);
    assert.equal(rates.callsPerSecond(0), 1);
  });

  it('are the calls of the window by its length, as an event log has them', () => {
    const step = fc.record({ after: fc.integer({ min: 1, max: 2500 }), calls: fc.nat(20), sample: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 400 }), (steps) => {
        const { make, register, call, pass, now } = bench();
        register('A');
        const rates = make();
        const events: number[] = [];
        const samples = [0];
        for (const { after, calls, sample } of steps) {
          pass(after);
          call(0, calls);
          for (let one = 0; one < calls; one++) events.push(now());
          if (sample) {
            rates.sample();
            samples.push(now());
          }
          const start = samples.filter((time) => now() - time >= WINDOW_MS).at(-1) ?? 0;
          const expected = events.filter((time) => time > start).length / ((now() - start) / 1000);
          assert.ok(Math.abs(rates.callsPerSecond(0) - expected) < 1e-9);
        }
      }),
    );
  });
});

describe('processor use', () => {
  it('is the processor time of the window by its length, in percent of one core', () => {
    let used = 0;
    const { make, pass } = bench({ cpu: () => used });
    const rates = make();
    used = 30_000_000;
    for (let second = 0; second < 60; second++) {
      pass(1000);
      rates.sample();
    }
    assert.equal(rates.cpuPercent(), 50);
    for (let second = 0; second < 60; second++) {
      pass(1000);
      used += 1_500_000;
      rates.sample();
    }
    assert.equal(rates.cpuPercent(), 150, 'the first minute is forgotten; two threads count more than a core');
  });

  it('is absent before any time has passed', () => {
    assert.equal(bench().make().cpuPercent(), undefined);
  });
});

function running(start = 0) {
  let now = start;
  const calls = new TenantCallCounts();
  const rates = createTenantRates({ calls, clock: { monotonic: () => now }, windowSeconds: 60 });
  return {
    rates,
    emit(count: number, tenant = 'acme') {
      for (let call = 0; call < count; call++) calls.count(tenant, 0);
    },
    /** Lets seconds pass, with the samples that come due. */
    pass(seconds: number) {
      for (let second = 0; second < seconds; second++) {
        now += 1000;
        rates.sample();
      }
    },
    rate: (tenant = 'acme') => rates.callsPerSecond(tenant, 0),
  };
}

describe('the rate of a tenant', () => {
  it('is measured over the life of the process while that is shorter than the window', () => {
    const { emit, pass, rate } = running();
    pass(10);
    emit(40);
    pass(10);
    assert.equal(rate(), 2);
    assert.equal(rate('other'), 0);
  });

  it('forgets what left the window, also of a tenant that says nothing any more', () => {
    const { emit, pass, rate } = running();
    emit(600);
    pass(50);
    assert.equal(rate(), 12);
    pass(25);
    assert.equal(rate(), 0);
    emit(60);
    pass(1);
    assert.ok(rate() > 0.8 && rate() <= 1, String(rate()));
  });

  it('is never more than was emitted in a window and one sixth, divided by the window', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 5 }), { minLength: 1, maxLength: 200 }), (perSecond) => {
        const { emit, pass, rate } = running(1_000_000);
        for (const count of perSecond) {
          emit(count);
          pass(1);
        }
        const sum = (seconds: number) => perSecond.slice(-seconds).reduce((total, count) => total + count, 0);
        assert.ok(rate() <= sum(71) / 60 + 1e-9, `${rate()}`);
        assert.ok(rate() >= sum(60) / 71 - 1e-9, `${rate()}`);
      }),
    );
  });
});

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
