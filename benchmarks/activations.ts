// What activations cost: a category that has none, a call in work that none is for, the first decision for a piece of work, a filter.
//
// Each candidate has a loop of its own with one call in it, as in gate-tenant.ts.

import { AsyncLocalStorage } from 'node:async_hooks';
import { do_not_optimize } from 'mitata';
import { type Candidate, internals, ns, publish, ratio, time, verdict } from './measurement.ts';

const { compileLineFilter, sinkOf, createTelemetry, GateCore, systemClock, WorkFollower } = await internals();

const CALLS = 1024;
const attributes = { 'user.id': '41' };

/** A process with that many activations of one category, each for the work of another user. */
function service(activations: number) {
  const gate = new GateCore();
  const off = gate.category('CHECKOUT');
  const targeted = gate.category('DATABASE');
  const work = new WorkFollower(gate.work);
  const sink = sinkOf({
    telemetry: createTelemetry(),
    clock: systemClock,
    writeLine: () => undefined,
    selection: { clock: systemClock, instanceId: 'benchmark', work, random: Math.random },
  });
  gate.attach({ sink, maxCategories: 4096, registered: () => undefined, failed: () => undefined });
  const [, category] = gate.categories();
  for (let user = 100; user < 100 + activations; user++) {
    sink.activate(category!, { match: { 'user.id': `${user}` }, exhausted: () => undefined });
  }
  return { gate, off, targeted };
}

const repeat = (name: string, call: () => unknown, within?: Candidate['within']): Candidate => ({
  name,
  calls: CALLS,
  call() {
    for (let index = 0; index < CALLS; index++) do_not_optimize(call());
  },
  ...(within && { within }),
});

const ALONE = 'a call of a category that is off';
const BESIDE = 'the same beside an activation of another category';
const BARE = 'bare AsyncLocalStorage.getStore()';
const DECIDED = 'a call of a category with an activation for another user, decided before';
const WORK = 'a piece of work without a call';
const FIRST = 'a piece of work and its first call, one activation';
const THOUSAND = 'a piece of work and its first call, 1,000 activations';
const WHERE = 'a where with two comparisons';

const [none, one, thousand] = [service(0), service(1), service(1000)];
const storage = new AsyncLocalStorage<object>();
const first =
  ({ gate, targeted }: typeof one) =>
  () =>
    gate.work.run(attributes, () => targeted.enabled);
const filter = await compileLineFilter({ where: 'rows > 1000 && table == "orders"' }, Math.random);
const line = {
  severity: 'DEBUG' as const,
  timestamp: new Date(0).toISOString(),
  category: 'DATABASE',
  message: 'query done',
  attributes: { rows: 1500, table: 'orders', milliseconds: 12 },
};

const timings = await time([
  repeat(ALONE, () => none.off.debug('m', { a: 1 })),
  repeat(BESIDE, () => one.off.debug('m', { a: 1 })),
  repeat(
    BARE,
    () => storage.getStore(),
    (run) => storage.run({}, run),
  ),
  repeat(
    DECIDED,
    () => one.targeted.debug('m', { a: 1 }),
    (run) => one.gate.work.run(attributes, run),
  ),
  repeat(WORK, () => none.gate.work.run(attributes, () => false)),
  repeat(FIRST, first(one)),
  repeat(THOUSAND, first(thousand)),
  repeat(WHERE, () => filter(line, 'benchmark')),
]);

const p50 = (name: string) => timings.find((timing) => timing.name === name)!.p50;
const [off, decided] = [ratio(timings, BESIDE, ALONE), ratio(timings, DECIDED, BARE)];
const atMost = (what: string, nanoseconds: number, most: number) =>
  verdict(what, `<= ${most} µs`, ns(nanoseconds), nanoseconds <= most * 1000, nanoseconds);
publish({
  timings,
  verdicts: [
    verdict('off, beside an activation of another category', '<= 1.2 of itself', off.toFixed(2), off <= 1.2, off),
    verdict(DECIDED, '<= 1.5 of a bare getStore()', decided.toFixed(2), decided <= 1.5, decided),
    atMost('the first decision, one activation', p50(FIRST) - p50(WORK), 5),
    atMost('the first decision, 1,000 activations', p50(THOUSAND) - p50(WORK), 8),
    atMost(WHERE, p50(WHERE), 1),
  ],
});
