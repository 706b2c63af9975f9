// In a process of its own: it installs global providers of OpenTelemetry.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { logs } from '@opentelemetry/api';
import { BatchLogRecordProcessor, InMemoryLogRecordExporter, LoggerProvider } from '@opentelemetry/sdk-logs';
import { type DebugLaneOptions, debugLane, type LogProcessor, laneDrops } from '../../src/calls/emit/debug-lane.ts';
import { DROP } from '../../src/gate/drops.ts';
import fc from '../support/fast-check.ts';
import { sinkOf } from '../support/sink.ts';

const DEBUG = 5;
const INFO = 9;
const ERROR = 17;

/** A real SDK whose batch processor is behind a lane, over an exporter that takes its time. */
function sdk(options?: DebugLaneOptions) {
  const exporter = new InMemoryLogRecordExporter();
  const lane = debugLane(new BatchLogRecordProcessor({ exporter }), options);
  const provider = new LoggerProvider({ processors: [lane] });
  const severities = () => exporter.getFinishedLogRecords().map(({ severityNumber }) => severityNumber);
  return { provider, logger: provider.getLogger('test'), exporter, severities };
}

/** A processor with a queue of its own, that exports when it is asked to and says so when it is let. */
function held() {
  const queue: unknown[] = [];
  const exported: unknown[] = [];
  const answers: (() => void)[] = [];
  const processor: LogProcessor = {
    onEmit: (record) => void queue.push(record),
    forceFlush: () =>
      new Promise((resolve) => {
        exported.push(...queue.splice(0));
        answers.push(resolve);
      }),
    shutdown: async () => {},
  };
  return { processor, queue, exported, answers };
}

describe('a debug lane', () => {
  it('loses no error behind a flood of debug records in one turn', async () => {
    const { provider, logger, severities } = sdk();
    for (let call = 0; call < 100_000; call++) logger.emit({ severityNumber: DEBUG });
    logger.emit({ severityNumber: ERROR });
    await provider.forceFlush();
    assert.equal(severities().filter((severity) => severity === ERROR).length, 1);
    assert.equal(severities().filter((severity) => severity === DEBUG).length, 512 + 2048);
  });

  it('counts every debug record that it drops', async () => {
    const { provider, logger, severities } = sdk({ inProcessor: 10, waiting: 20 });
    const before = laneDrops().count;
    for (let call = 0; call < 100; call++) logger.emit({ severityNumber: DEBUG });
    await provider.forceFlush();
    assert.equal(severities().length, 30);
    assert.equal(laneDrops().count - before, 70);
  });

  it('keeps room for quiet categories and loggers behind a flood of one, and still has a bound', async () => {
    const { processor, exported, answers } = held();
    const lane = debugLane(processor, { inProcessor: 10, waiting: 80 });
    const before = laneDrops().count;
    const emit = (category: string, times: number) => {
      const attributes = { 'rdcp.category.name': category };
      for (let call = 0; call < times; call++) lane.onEmit({ severityNumber: DEBUG, attributes });
    };
    emit('HOT', 1000);
    emit('QUIET', 3);
    lane.onEmit({ severityNumber: DEBUG, instrumentationScope: { name: 'a-logger' } });
    for (let at = 0; at < 100; at++) emit(`OTHER_${at}`, 1);
    const ended = lane.shutdown();
    while (await Promise.race([ended.then(() => false), turn(true)])) answers.shift()?.();
    const of = (category: string) =>
      exported.filter((record) => JSON.stringify(record).includes(`"${category}"`)).length;
    assert.deepEqual([of('HOT'), of('QUIET'), of('a-logger')], [10 + 80, 3, 1]);
    assert.equal(exported.length, 10 + 80 + 80 / 4);
    assert.equal(laneDrops().count - before, 1104 - exported.length);
  });

  it('delays nothing while there is little', () => {
    const { processor, queue } = held();
    const lane = debugLane(processor);
    for (const severityNumber of [1, DEBUG, INFO, ERROR, 0, undefined]) lane.onEmit({ severityNumber });
    assert.equal(queue.length, 6);
  });

  it('never has more debug records in the processor than it may, and passes the others by', async () => {
    const operations = fc.array(fc.constantFrom('debug', 'info', 'exported', 'turn'), { maxLength: 200 });
    await fc.assert(
      fc.asyncProperty(
        operations,
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 5 }),
        async (steps, inProcessor, waiting) => {
          const { processor, queue, exported, answers } = held();
          const lane = debugLane(processor, { inProcessor, waiting });
          const before = laneDrops().count;
          const emitted = { debug: 0, info: 0 };
          for (const step of steps) {
            if (step === 'debug' || step === 'info') {
              emitted[step] += 1;
              lane.onEmit({ severityNumber: step === 'debug' ? DEBUG : INFO });
            } else if (step === 'exported') answers.shift()?.();
            else await turn();
            assert.ok(queue.filter((record) => Object.values(record as object)[0] === DEBUG).length <= inProcessor);
          }
          const ended = lane.shutdown();
          while (await Promise.race([ended.then(() => false), turn(true)])) answers.shift()?.();
          const count = (severity: number) =>
            exported.filter((record) => Object.values(record as object)[0] === severity).length;
          assert.equal(count(INFO), emitted.info);
          assert.equal(count(DEBUG) + laneDrops().count - before, emitted.debug);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('survives a processor that throws when it is flushed', async () => {
    const { processor } = held();
    const forceFlush = () => {
      throw new Error('broken');
    };
    const lane = debugLane({ ...processor, forceFlush }, { inProcessor: 1 });
    lane.onEmit({ severityNumber: DEBUG });
    lane.onEmit({ severityNumber: DEBUG });
    await turn();
    await assert.rejects(lane.forceFlush(), /broken/);
    await lane.shutdown();
  });

  it('takes what its processor takes', () => {
    const { processor } = held();
    assert.equal(debugLane(processor).enabled?.({}), true);
    assert.equal(debugLane({ ...processor, enabled: () => false }).enabled?.({}), false);
  });

  it('refuses what is no processor, such as an exporter', () => {
    for (const bad of [undefined, {}, new InMemoryLogRecordExporter()]) {
      assert.throws(() => debugLane(bad as never), /^TypeError: debugLane: processor must be a log record processor/);
    }
  });

  it('refuses options that are no numbers of records', () => {
    for (const bad of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '1' as never]) {
      assert.throws(() => debugLane(held().processor, { waiting: bad }), /waiting must be a whole number of 1 or more/);
      assert.throws(() => debugLane(held().processor, { inProcessor: bad }), RangeError);
    }
  });

  it('reports a dropped record to the category of its call', async (t) => {
    const { provider } = sdk({ inProcessor: 1, waiting: 1 });
    t.after(() => provider.shutdown());
    const sink = sinkOf({
      telemetry: { logger: provider.getLogger('rdcp') } as never,
      to: 'otel',
    });
    const category = { name: 'PAYMENTS', index: 0, description: '', defaultEnabled: false };
    const results = [1, 2, 3].map(() => sink.emit(category, 'm', undefined));
    assert.deepEqual(results, [undefined, undefined, DROP.backlog]);
    logs.disable();
  });
});
