// Started by memory.full.ts: keeps lines, and prints how many bytes that takes.

import { WorkFollower } from '../../src/calls/work/match.ts';
import { GateCore } from '../../src/gate/core.ts';
import { systemClock } from '../../src/wire/time/clock.ts';
import { RecordingController } from '../gate/controllers.ts';
import { sinkOf } from '../support/sink.ts';

const gate = new GateCore();
const work = new WorkFollower(gate.work);
const ticks: (() => void)[] = [];
const sink = sinkOf({
  clock: systemClock,
  to: () => undefined,
  schedule: (_milliseconds, task) => {
    ticks.push(task);
    return () => undefined;
  },
  selection: { clock: systemClock, instanceId: 'here', work, random: Math.random },
});
const attachment = gate.attach(new RecordingController(4096, sink));
const api = gate.category('API');
const record = () => sink.activate(gate.categories()[0]!, { when: { failed: true }, exhausted: () => {} });

/** 200 characters of a text of 1 MiB that nothing else keeps. */
function slice(number: number): string {
  return `${number} `.padEnd(1024 * 1024, 'a word or two, ').slice(0, 200);
}

const never = new Promise(() => {});

const KEEPING: Readonly<Record<string, () => unknown>> = {
  recorder: () => {
    record();
    for (let number = 0; number < 1000; number++)
      void gate.work.runNamed('job', () => [api.debug(slice(number), { text: slice(number) }), never][1]);
  },
  'recorder, nested': () => {
    record();
    for (let number = 0; number < 1000; number++)
      void gate.work.runNamed('job', () => [api.debug('m', { list: [{ text: slice(number) }] } as never), never][1]);
  },
  'names and messages': () => {
    attachment.setBase(0, true);
    for (let number = 0; number < 1000; number++)
      api.debug(slice(number).slice(0, 90), { list: [slice(number).slice(0, 90), 1] } as never);
  },
  'short lines': () => {
    record();
    for (let job = 0; job < 6000; job++)
      void gate.work.runNamed('job', () => {
        for (let call = 0; call < 100; call++) api.debug('m', { call });
        return never;
      });
  },
};

const [, , what = ''] = process.argv;
globalThis.gc!();
const before = process.memoryUsage().heapUsed;
const kept = KEEPING[what]!();
// Texts of work that goes on are copied each second.
for (const tick of ticks) tick();
globalThis.gc!();
console.log(process.memoryUsage().heapUsed - before);
// Keeps it until here.
if (kept === gate) throw new Error();
