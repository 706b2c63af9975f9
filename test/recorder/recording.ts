import { EventEmitter } from 'node:events';
import type { SinkOptions } from '../../src/calls/emit/sink.ts';
import type { RecorderLimits } from '../../src/calls/recorder/types.ts';
import { HttpRequests } from '../../src/calls/work/http-requests.ts';
import { WorkFollower } from '../../src/calls/work/match.ts';
import { WorkOutcomes } from '../../src/calls/work/outcomes.ts';
import { GateCore } from '../../src/gate/core.ts';
import { RecordingController } from '../gate/controllers.ts';
import { RECORDER, sinkOf } from '../support/sink.ts';

/** A process that follows its work, and whose categories can be recorded. Its clock stands still unless a test moves it. */
export function followedProcess(limits: Partial<RecorderLimits>, to: SinkOptions['to']) {
  const time = { now: 1000 };
  const ticks: (() => void)[] = [];
  const host = new EventEmitter();
  const gate = new GateCore();
  const clock = { now: () => time.now, monotonic: () => time.now };
  const follower = new WorkFollower(gate.work);
  const outcomes = new WorkOutcomes(gate.work, new HttpRequests(gate.work), clock, host as NodeJS.Process);
  const sink = sinkOf({
    ...{ clock, to, recorder: { ...RECORDER, ...limits } },
    schedule: (_milliseconds, task) => {
      ticks.push(task);
      return () => void ticks.splice(ticks.indexOf(task), 1);
    },
    selection: {
      ...{ clock, instanceId: 'here', random: () => 0.5 },
      work: { matching: () => follower.matching(), outcomes },
    },
  });
  const attachment = gate.attach(new RecordingController(4096, sink));
  const tick = () => {
    for (const task of ticks) task();
  };
  return { time, host, gate, sink, attachment, tick };
}
