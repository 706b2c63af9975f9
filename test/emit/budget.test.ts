import assert from 'node:assert/strict';
import { test } from 'node:test';
import { budgetsOf } from '../../src/calls/emit/budgets.ts';
import type { EmissionSink } from '../../src/calls/emit/sink.ts';
import { GateCore } from '../../src/gate/core.ts';
import type { DebugRecord, RdcpConfig } from '../../src/index.ts';
import { parseConfig } from '../../src/options/config.ts';
import { RecordingController } from '../gate/controllers.ts';
import { sinkOf } from '../support/sink.ts';
import { virtualTime } from '../support/virtual-time.ts';

type BudgetOption = NonNullable<RdcpConfig['controls']>['budget'];

/** Categories A, B, …, all on, whose records are kept. */
function bench(budget: BudgetOption, names = ['A', 'B'], take?: (record: DebugRecord) => unknown) {
  const time = virtualTime(Date.UTC(2026, 0, 31, 12));
  const records: DebugRecord[] = [];
  const exhausted: string[] = [];
  const sink: EmissionSink = sinkOf({
    clock: time.clock,
    schedule: time.schedule,
    budget: budgetsOf(parseConfig({ controls: { budget } }).controls.budget),
    to: take ?? ((record) => void records.push(record)),
  });
  const gate = new GateCore();
  const categories = names.map((name) => gate.category(name));
  const attachment = gate.attach(new RecordingController(4096, sink));
  for (const index of names.keys()) attachment.setBase(index, true);
  const descriptors = gate.categories();
  const debugs = () => records.filter(({ severity }) => severity === 'DEBUG');
  const of = (name: string) => debugs().filter(({ category }) => category === name).length;
  return {
    ...{ time, records, debugs, of, sink, gate, attachment, descriptors, exhausted },
    a: categories[0]!,
    b: categories[1]!,
    calls: (times: number, message = 'm', at = 0) => {
      for (let call = 0; call < times; call++) categories[at]!.debug(message);
    },
  };
}

/** calls = emitted + dropped, of one category. */
function assertBooks({ gate, of }: ReturnType<typeof bench>, index = 0): void {
  const { name } = gate.categories()[index]!;
  assert.equal(gate.callsTotal(index), of(name) + gate.droppedTotal(index));
}

test('a category emits a burst, then its rate, and what is beyond is dropped and counted', async () => {
  const it = bench({});
  it.calls(5000);
  assert.equal(it.debugs().length, 1000);
  assert.deepEqual([it.gate.callsTotal(0), it.gate.droppedTotal(0, 'budget')], [5000, 4000]);
  for (let tick = 0; tick < 50; tick++) {
    await it.time.pass(100);
    it.calls(200);
  }
  assert.equal(it.debugs().length, 1000 + 5 * 500);
  assertBooks(it);
});

test('a burst that is smaller than a tick of the rate does not cap the rate', async () => {
  const it = bench({ callsPerSecond: 500, burst: 1 });
  it.calls(200);
  assert.ok(it.debugs().length <= 51, `${it.debugs().length} at once`);
  for (let tick = 0; tick < 20; tick++) {
    await it.time.pass(100);
    it.calls(200);
  }
  assert.equal(it.debugs().length, 50 + 2 * 500);
  assertBooks(it);
});

test('all categories together stay under the budget of the process', async () => {
  const names = ['A', 'B', 'C', 'D', 'E'];
  const it = bench({}, names);
  for (const at of names.keys()) it.calls(1000, 'flood', at);
  assert.equal(it.debugs().length, 2000 + 200 + 100 + 50, 'C, D and E each took half of the reserve that was left');
  assert.equal(it.gate.droppedTotal(4, 'process_budget'), 950);
  for (let tick = 0; tick < 20; tick++) {
    await it.time.pass(100);
    for (const at of names.keys()) it.calls(1000, 'flood', at);
  }
  assert.ok(it.debugs().length <= 2000 + 200 + 2 * 2000, `${it.debugs().length}`);
  for (const at of names.keys()) assertBooks(it, at);
});

for (const floods of [1, 5, 10]) {
  test(`a quiet category loses no line beside ${floods} that use up the budget of the process`, async () => {
    const names = [...Array.from({ length: floods }, (_, at) => `FLOOD_${at}`), 'QUIET'];
    const it = bench({ callsPerSecond: 2000 }, names);
    let large = 0;
    for (let tick = 0; tick < 100; tick++) {
      // At first the bytes are too many, then the calls.
      const wide = tick < 50 ? 'x'.repeat(1000) : '';
      for (let at = 0; at < floods; at++) {
        for (let call = 0; call < 300; call++) it.gate.category(names[at]!).debug(`large ${large++ % 7}`, { wide });
      }
      it.calls(2, 'all is well', floods);
      await it.time.pass(100);
    }
    assert.equal(it.gate.droppedTotal(floods), 0);
    assert.ok(it.gate.droppedTotal(0, 'process_budget') > 1000);
    for (const at of names.keys()) assertBooks(it, at);
  });
}

test('bytes count as calls do: large lines are fewer', async () => {
  const it = bench({ process: { bytesPerSecond: 100_000 } });
  for (let second = 0; second < 3; second++) {
    for (let call = 0; call < 500; call++) it.a.debug('large', { text: 'x'.repeat(5000) });
    await it.time.pass(1000);
  }
  const emitted = it.debugs().length;
  assert.ok(emitted >= 60 && emitted <= 65, `${emitted} of 5 KB at 100 KB a second`);
  assertBooks(it);
});

test('an event loop that is blocked for a minute, and a clock that jumps, refill nothing', async () => {
  const it = bench({});
  it.calls(2000);
  it.time.suspend(60_000);
  it.calls(2000);
  it.time.setWall(0);
  it.calls(2000);
  assert.equal(it.debugs().length, 1000);
});

test('the timer runs only until every budget is full again', async () => {
  const it = bench({});
  assert.equal(it.time.pending, 0);
  it.calls(100);
  assert.equal(it.time.pending, 1);
  await it.time.pass(1000);
  assert.equal(it.time.pending, 0);
  it.calls(3000);
  await it.time.pass(20_000);
  assert.equal(it.time.pending, 0, 'also after what was dropped has been told');
  assert.equal(it.records.at(-1)?.severity, 'WARN', 'which is later than every budget is full');
});

test('every ten seconds a record of severity WARN says how many calls were dropped, and since when', async () => {
  const it = bench({ callsPerSecond: 1, burst: 1 });
  const warnings = () => it.records.filter(({ severity }) => severity === 'WARN');
  for (let second = 0; second < 25; second++) {
    it.calls(100);
    await it.time.pass(1000);
  }
  assert.deepEqual(
    warnings().map(({ category, message, attributes }) => [category, message, attributes['rdcp.dropped.since']]),
    [
      ['A', '990 debug calls since 2026-01-31T12:00:00.000Z were dropped: over the budget', '2026-01-31T12:00:00.000Z'],
      ['A', '990 debug calls since 2026-01-31T12:00:10.000Z were dropped: over the budget', '2026-01-31T12:00:10.000Z'],
    ],
  );
  it.sink.close();
  const total = warnings().reduce((sum, { attributes }) => sum + Number(attributes['rdcp.dropped.count']), 0);
  assert.equal(total, it.gate.droppedTotal(0), 'what is left is told when it closes');
  assertBooks(it);
});

test('a category has the budget that is configured for it, or none', () => {
  const it = bench({ callsPerSecond: 10, categories: { B: false } });
  it.calls(100, 'm', 0);
  it.calls(10_000, 'm', 1);
  assert.deepEqual([it.of('A'), it.of('B')], [20, 10_000]);
  const apart = bench({ callsPerSecond: 1, categories: { B: false } });
  apart.sink.budgets.setControl(apart.descriptors[1]!, undefined, { calls: 10_000 });
  apart.calls(10_000, 'm', 1);
  assert.equal(apart.debugs().length, 10_000, 'a total draws nothing from the budget of the process');
  const unlimited = bench(false);
  unlimited.calls(10_000);
  assert.equal(unlimited.debugs().length, 10_000);
});

test('spans take from the budget too, and run bare beyond it', () => {
  const it = bench({ callsPerSecond: 5, burst: 10 });
  let ran = 0;
  let traced = 0;
  for (let call = 0; call < 100; call++) {
    it.a.span('s', (span) => {
      ran += 1;
      if (span !== undefined) traced += 1;
    });
  }
  assert.deepEqual([ran, traced, it.gate.callsTotal(0), it.gate.droppedTotal(0, 'budget')], [100, 10, 100, 90]);
});

test('the budget of a control replaces the configured one until it is taken back', async () => {
  const it = bench({});
  const [descriptor] = it.descriptors;
  it.sink.budgets.setControl(descriptor!, undefined, { callsPerSecond: 3 });
  it.calls(100);
  assert.equal(it.debugs().length, 6, 'a burst of two seconds');
  it.sink.budgets.setControl(descriptor!, undefined, false);
  it.calls(5000);
  assert.equal(it.debugs().length, 5006);
  it.sink.budgets.setControl(descriptor!, undefined, undefined);
  it.calls(5000);
  assert.equal(it.debugs().length, 6006);
  assertBooks(it);
});

test('a control whose calls or bytes are used up says so once, and emits nothing more', () => {
  const it = bench({});
  const [descriptor, other] = it.descriptors;
  it.sink.budgets.setControl(descriptor!, undefined, { calls: 7 }, () => it.exhausted.push('A'));
  it.sink.budgets.setControl(other!, undefined, { bytes: 1000 }, () => it.exhausted.push('B'));
  it.calls(100, 'm', 0);
  for (let call = 0; call < 100; call++) it.b.debug('m', { text: 'x'.repeat(90) });
  assert.equal(it.of('A'), 7);
  assert.ok(it.of('B') >= 7 && it.of('B') <= 10, `${it.of('B')} of 100 bytes and more`);
  assert.deepEqual(it.exhausted, ['A', 'B']);
  for (const at of [0, 1]) assertBooks(it, at);
});

test("the budget of a tenant's control counts that tenant's calls alone", () => {
  const it = bench({});
  const [descriptor] = it.descriptors;
  it.sink.budgets.setControl(descriptor!, 'acme', { calls: 3 }, () => it.exhausted.push('acme'));
  it.gate.runWithTenant('acme', () => it.calls(10));
  it.gate.runWithTenant('beta', () => it.calls(10));
  it.calls(10);
  const of = (tenant: string | undefined) => it.debugs().filter((record) => record.tenant === tenant).length;
  assert.deepEqual([of('acme'), of('beta'), of(undefined)], [3, 10, 10]);
  assert.deepEqual(it.exhausted, ['acme']);
  assert.deepEqual(it.sink.budgets.stateOf(descriptor!, 'acme')?.callsLeft, 0);
});

test('an output that throws, rejects, or calls the category itself keeps the books right', async () => {
  let at = 0;
  let it: ReturnType<typeof bench>;
  const taken: string[] = [];
  it = bench({}, ['A'], ({ message }) => {
    at += 1;
    if (at % 3 === 0) throw new Error('no output');
    taken.push(message);
    if (at % 3 === 1) it.a.debug('from the output');
    return at % 3 === 2 ? Promise.reject(new Error('no output later')) : undefined;
  });
  it.calls(600);
  await it.time.pass(0);
  assert.equal(it.gate.callsTotal(0), 800);
  assert.equal(taken.length + it.gate.droppedTotal(0), 800);
  assert.deepEqual([it.gate.droppedTotal(0, 'failed'), it.gate.droppedTotal(0, 'nested')], [200, 200]);
});

for (const [option, field] of [
  [{ callsPerSecond: 0 }, 'callsPerSecond must be at least 1'],
  [{ callsPerSecond: Number.NaN }, 'callsPerSecond must be a number'],
  [{ burst: 1e12 }, 'burst must be at most 1000000'],
  [{ categories: { A: { callsPerSecond: -1 } } }, 'categories.A.callsPerSecond must be at least 1'],
  [{ process: { bytesPerSecond: 1e12 } }, 'process.bytesPerSecond must be at most 1073741824'],
  [{ callPerSecond: 5 }, 'callPerSecond is not a known field'],
] as const) {
  test(`a budget is refused at the start: ${field}`, () => {
    assert.throws(() => parseConfig({ controls: { budget: option } }), {
      message: new RegExp(`^configuration: controls\\.budget\\.${field}`),
    });
  });
}

test('a category inherits of the budget what it does not name, and its burst follows its own rate', () => {
  const { sink } = bench({
    callsPerSecond: 100,
    burst: 150,
    bytesPerSecond: 5000,
    categories: { A: { burst: 3 }, B: { callsPerSecond: 5 }, C: { callsPerSecond: 5, burst: 7 }, D: false },
  });
  const { configured, configuredRate } = sink.budgets;
  const bytesPerSecond = 5000;
  assert.deepEqual(['A', 'B', 'C', 'D', 'OTHER'].map(configured), [
    { callsPerSecond: 100, burst: 3, bytesPerSecond },
    { callsPerSecond: 5, burst: 10, bytesPerSecond },
    { callsPerSecond: 5, burst: 7, bytesPerSecond },
    undefined,
    { callsPerSecond: 100, burst: 150, bytesPerSecond },
  ]);
  assert.deepEqual(['B', 'D'].map(configuredRate), [5, undefined]);
});

test('a control limits a category that has no budget of its own, by its total, its rate or both', () => {
  const { descriptors, sink, calls, debugs } = bench(false);
  const [a, b] = descriptors as [(typeof descriptors)[0], (typeof descriptors)[0]];
  assert.equal(sink.budgets.stateOf(a!), undefined);
  sink.budgets.setControl(a!, undefined, { calls: 2 });
  assert.deepEqual(sink.budgets.stateOf(a!), { callsLeft: 2 });
  calls(5);
  assert.equal(debugs().length, 2);
  assert.deepEqual(sink.budgets.stateOf(a!), { callsLeft: 0 });
  sink.budgets.setControl(b!, undefined, { callsPerSecond: 2 });
  assert.deepEqual(sink.budgets.stateOf(b!), { callsPerSecond: 2, burst: 4, callsLeftNow: 4 });
  calls(9, 'm', 1);
  assert.equal(debugs().length, 2 + 4);
  sink.budgets.setControl(a!, undefined, undefined);
  calls(5);
  assert.equal(debugs().length, 2 + 4 + 5);
});

test("lines that a logger writes draw on their tenant's budget where it has one, else on the category's", () => {
  const { a, attachment, descriptors, gate, sink } = bench({ callsPerSecond: 10, burst: 3 });
  attachment.setTenant('acme', 0, true);
  attachment.setTenant('free', 0, true);
  sink.budgets.setControl(descriptors[0]!, 'acme', { calls: 1 });
  sink.budgets.setControl(descriptors[0]!, 'free', false);
  const passing = () =>
    Array.from({ length: 5 }, () => a.passes({ bytes: 1, describe: () => ({ message: 'm' }) })).filter(
      (passes) => passes,
    ).length;
  assert.equal(gate.runWithTenant('acme', passing), 1);
  assert.equal(gate.runWithTenant('free', passing), 5);
  assert.equal(gate.runWithTenant('other', passing), 3);
  assert.equal(passing(), 0, 'other has used it up');
  assert.deepEqual([gate.callsTotal(0), gate.droppedTotal(0, 'budget')], [20, 4 + 2 + 5]);
});
