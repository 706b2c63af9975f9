import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, describe, it, type TestContext } from 'node:test';
import { Worker } from 'node:worker_threads';
import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { gate } from '../../src/gate/gate.ts';
import { activeSpan, withSpan } from '../../src/gate/span-context.ts';
import { inFull } from '../support/tiers.ts';
import { until } from '../support/until.ts';
import { RecordingController } from './controllers.ts';

const FILE = join(import.meta.dirname, 'threads-worker.ts');

function start(t: TestContext, workerData?: unknown) {
  const worker = new Worker(FILE, { workerData });
  t.after(() => worker.terminate());
  const say = (...question: unknown[]) => worker.postMessage(question);
  const answer = async <T>(): Promise<T> => {
    for (;;) {
      const [message] = await once(worker, 'message');
      if (typeof message === 'object') return message.answer as T;
    }
  };
  return {
    worker,
    say,
    answer,
    ask: <T>(...question: unknown[]): Promise<T> => {
      say(...question);
      return answer<T>();
    },
  };
}

function control() {
  const tapped: string[] = [];
  const works: (string | undefined)[] = [];
  let tap: (index: number, on: boolean) => void = () => {};
  const controller = new RecordingController(4096, {
    watchTaps: (listener) => {
      tap = listener;
      return () => {};
    },
    tapped: () => true,
    tap: ({ message }) => {
      tapped.push(message);
      works.push(gate.work.current()?.attributes.get('user.id'));
      return undefined;
    },
  });
  return { lines: controller.emitted, attachment: gate.attach(controller), tapped, works, tap };
}

function indexOf(name: string): number {
  gate.category(name);
  return gate.categories().find((category) => category.name === name)?.index ?? -1;
}

describe('worker threads', () => {
  const before = new Worker(FILE);
  after(() => before.terminate());
  const { lines, attachment, tapped, works, tap } = control();
  after(() => attachment.detach());

  it('a category that is switched on is on in a thread, whose lines come out here', async (t) => {
    const thread = start(t);
    const index = indexOf('SQL');
    assert.equal(await thread.ask('enabled', 'SQL'), false);
    attachment.setBase(index, true);
    await until('SQL is on', () => thread.ask('enabled', 'SQL'));
    await thread.ask('emit', 'SQL', 1);
    await until('a line', () => lines.length === 1);
    assert.deepEqual(lines.splice(0), [{ category: 'SQL', message: 'from a thread', attributes: { i: 0 } }]);
    assert.equal(gate.callsTotal(index), 1);
  });

  it('the span of a thread is active while its line is written, and records nothing here', () => {
    const manager = new AsyncLocalStorageContextManager().enable();
    context.setGlobalContextManager(manager);
    const span = { traceId: '1'.repeat(32), spanId: '2'.repeat(16), traceFlags: 1 };
    withSpan(span, () => {
      assert.deepEqual(trace.getActiveSpan()?.spanContext(), { ...span, isRemote: true });
      assert.equal(trace.getActiveSpan()?.isRecording(), false);
      assert.deepEqual(activeSpan(), span);
    });
    assert.equal(activeSpan(), undefined);
    context.disable();
  });

  it('a tapped category is enabled in a thread, whose calls go to the tap alone and do not count', async (t) => {
    const thread = start(t);
    const index = indexOf('TAPPED');
    tap(index, true);
    await until('TAPPED is on', () => thread.ask('enabled', 'TAPPED'));
    await thread.ask('emit', 'TAPPED', 2);
    await until('two tapped lines', () => tapped.length === 2);
    assert.deepEqual([lines.length, gate.callsTotal(index)], [0, 0]);
    for (const user of ['42', '43']) await thread.ask('work', 'TAPPED', user);
    await until('the lines of two users', () => tapped.length === 4);
    assert.deepEqual(works, [undefined, undefined, '42', '43'], 'a tap sees the work that made the call');
    tap(index, false);
    await until('TAPPED is off', async () => !(await thread.ask('enabled', 'TAPPED')));
  });

  inFull('a switch reaches a thread that never comes to its event loop', async (t) => {
    const thread = start(t);
    const index = indexOf('BUSY');
    assert.equal(await thread.ask('enabled', 'BUSY'), false);
    for (const on of [true, false]) {
      thread.say('spin', 'BUSY', on);
      assert.equal((await once(thread.worker, 'message'))[0], 'spinning');
      attachment.setBase(index, on);
      assert.equal(await thread.answer(), true);
    }
  });

  inFull('counts 1,000,000 calls of four threads exactly, also when they have ended', async (t) => {
    const index = indexOf('FLOOD');
    attachment.setBase(index, true);
    const threads = Array.from({ length: 4 }, () => start(t));
    await Promise.all(threads.map(({ ask }) => ask('enabled', 'FLOOD')));
    await Promise.all(threads.map(({ ask }) => ask('emit', 'FLOOD', 250_000)));
    assert.equal(gate.callsTotal(index), 1_000_000);
    await Promise.all(threads.map(({ worker }) => worker.terminate()));
    assert.equal(gate.callsTotal(index), 1_000_000);
    await until(
      'each line is written or counted as dropped',
      () => lines.length + gate.droppedTotal(index) >= 1_000_000,
    );
    assert.equal(lines.splice(0).length + gate.droppedTotal(index), 1_000_000, 'what is lost is said to be lost');
  });

  it('a thread knows at once what is on, while the main thread waits for it', (t) => {
    attachment.setBase(indexOf('AT_ONCE'), true);
    const flag = new Int32Array(new SharedArrayBuffer(4));
    start(t, { flag, name: 'AT_ONCE' });
    Atomics.wait(flag, 0, 0, 20_000);
    assert.equal(flag[0], 1);
  });

  it('a thread that was there before the control plane, and one that another thread made, follow', async () => {
    const index = indexOf('EARLY');
    attachment.setBase(index, true);
    const ask = async (...question: unknown[]) => {
      before.postMessage(question);
      return (await once(before, 'message'))[0].answer;
    };
    await until('EARLY is on', () => ask('enabled', 'EARLY'));
    await ask('nested', 'EARLY');
    await until('the calls are counted', () => gate.callsTotal(index) === 3);
  });
});
