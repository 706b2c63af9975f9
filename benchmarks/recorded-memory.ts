// Resident memory of what is recorded, where each line has a slice of a text of 1 MiB: work that has not ended, up to
// `recorder.bytes`, beside finished work, up to `recorder.keepBytes`.

import { internals, publish, verdict } from './measurement.ts';

const { sinkOf, createTelemetry, GateCore, RECORDER, systemClock, WorkFollower } = await internals();
const MIB = 2 ** 20;
const LINES = 20;
const WARM_UP = 500;
/** Pieces of work from one tick of the recorder, which copies the texts of open work, to the next. */
const TICK_EVERY = 50;

const gate = new GateCore();
const orders = gate.category('ORDERS');
let tick = () => {};
const sink = sinkOf({
  telemetry: createTelemetry(),
  clock: systemClock,
  recorder: { ...RECORDER, keepSeconds: 3600, seconds: 3600 },
  schedule: (_milliseconds, task) => {
    tick = () => void task();
    return () => {};
  },
  selection: { clock: systemClock, instanceId: 'benchmark', work: new WorkFollower(gate.work), random: Math.random },
});
gate.attach({ sink, maxCategories: 1, registered: () => undefined, failed: () => undefined });
const [category] = gate.categories();
const never = new Promise(() => {});

function work(number: number, ends: boolean): void {
  // On the heap: what is freed outside of it, malloc keeps.
  const text = `order ${number} `.padEnd(MIB, 'a word or two, ');
  void gate.work.runNamed('order', () => {
    for (let line = 0; line < LINES; line++)
      orders.debug('order placed', { line, text: text.slice(line * 1000, line * 1000 + 200) });
    return ends ? undefined : never;
  });
  if (number % TICK_EVERY === 0) tick();
}

function resident(): number {
  for (let times = 0; times < 3; times++) globalThis.gc!();
  return process.memoryUsage.rss();
}

sink.setRecorded(category!, true);
for (let number = 0; number < WARM_UP; number++) work(number, true);
sink.setRecorded(category!, false);
const before = resident();
sink.setRecorded(category!, true);
// The oldest calls of open work are cut at the limit, and the oldest finished work goes.
for (let number = 0; (sink.recorder.countsOf(0)?.cut ?? 0) === 0; number++) work(number, false);
const { past } = sink.recorder;
for (let number = 0, works = -1; past.reach.works > works; number++) {
  works = past.reach.works;
  work(number, true);
}
tick();
const taken = (resident() - before) / MIB;
const most = (1.1 * (RECORDER.bytes + RECORDER.keepBytes)) / MIB;
publish({
  timings: [],
  verdicts: [
    verdict(
      `resident memory of ${past.reach.works} finished pieces of work, and of open ones up to the limit`,
      `<= ${most.toFixed(1)} MiB, a tenth more than both limits`,
      `${taken.toFixed(1)} MiB`,
      taken <= most,
      taken,
    ),
  ],
});
