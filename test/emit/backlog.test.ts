// In a process of its own: it installs global providers of OpenTelemetry.

import assert from 'node:assert/strict';
import { type ChildProcess, fork, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { logs } from '@opentelemetry/api';
import { GateCore } from '../../src/gate/core.ts';
import type { DebugRecord } from '../../src/index.ts';
import { createConditions } from '../../src/otel/report/conditions.ts';
import { createRdcpClient } from '../../src/tools/client/client.ts';
import { attachOn, RecordingController } from '../gate/controllers.ts';
import { newFolder } from '../support/folder.ts';
import { sinkOf } from '../support/sink.ts';
import { inFull } from '../support/tiers.ts';
import { until } from '../support/until.ts';
import { virtualTime } from '../support/virtual-time.ts';
import { keepRecords } from './kept-records.ts';

const MIB = 1024 * 1024;

/** A gate whose calls reach real outputs, and the messages about them. */
function bench(options: Partial<Parameters<typeof sinkOf>[0]>) {
  const time = virtualTime();
  const messages: string[] = [];
  const say = (message: string) => void messages.push(message);
  const conditions = createConditions({
    reporter: { info: say, warn: say, error: say },
    clock: time.clock,
    delay: time.delay,
    credentialsFailed() {},
    credentialsChanged() {},
  });
  const sink = sinkOf({
    clock: time.clock,
    condition: conditions.watch('output'),
    delay: time.delay,
    ...options,
  });
  const gate = new GateCore();
  const category = gate.category('FLOOD');
  attachOn(gate, new RecordingController(4096, sink));
  const counts = () => [gate.callsTotal(0), gate.droppedTotal(0, 'backlog')];
  return { time, messages, conditions, category, counts, sink };
}

test('lines that wait for stderr take the memory of their bytes, whatever else the service allocates meanwhile', async (t) => {
  const program = `
    import { createStderrWriter } from ${JSON.stringify(new URL('../../src/otel/report/stderr.ts', import.meta.url).href)};
    const writeLine = createStderrWriter();
    process.stderr.write('x'.repeat(256 * 1024));
    for (let line = 0; line < 2000; line++) {
      writeLine('a line that nobody reads');
      // Other work of the service, which shares Node's pool of small Buffers.
      for (let other = 0; other < 8; other++) Buffer.from('x'.repeat(2000));
    }
    // V8 gives the memory of collected buffers back beside the program, a little later.
    let memory = Infinity;
    for (let turns = 0; turns < 50 && memory >= ${MIB}; turns++) {
      gc();
      await new Promise((resolve) => setTimeout(resolve, 20));
      memory = process.memoryUsage().arrayBuffers;
    }
    process.send({ waiting: process.stderr.writableLength, memory });`;
  const child = spawn(process.execPath, ['--no-warnings', '--expose-gc', '--input-type=module', '-e', program], {
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  });
  t.after(() => child.kill());
  const [{ waiting, memory }] = await once(child, 'message');
  assert.ok(waiting > 40_000, `${waiting} bytes wait`);
  assert.ok(memory < MIB, `${memory} bytes for ${waiting} that wait`);
});

test('lines that stderr has no room for are counted and reported once, and again with their number when it is over', async () => {
  let reads = true;
  const lines: string[] = [];
  const { time, messages, conditions, category, counts } = bench({
    writeLine: (line) => reads && lines.push(line) > 0,
  });
  category.debug('read');
  reads = false;
  for (let call = 0; call < 3; call++) category.debug('not read');
  assert.deepEqual(counts(), [4, 3]);
  assert.deepEqual(
    conditions.holding.map(({ name }) => name),
    ['output'],
  );
  await time.pass(4000);
  category.debug('not read');
  await time.pass(5000);
  assert.equal(conditions.holding.length, 1, 'lines were dropped a few seconds ago');
  reads = true;
  category.debug('read again');
  await time.pass(5000);
  assert.deepEqual(messages, [
    'stderr is not read: 1 MiB waits for it; debug lines are dropped, and counted in rdcp.debug.dropped',
    'debug lines are read again: 4 were dropped',
  ]);
  assert.deepEqual([conditions.holding.length, lines.length, time.pending], [0, 2, 0]);
  assert.deepEqual(counts(), [6, 4]);
  reads = false;
  category.debug('not read');
  assert.equal(conditions.holding.length, 1, 'the next time is told again');
});

test('a flood that is not read leaves room for the lines of a quiet category', () => {
  let waiting = 0;
  const settle: (() => void)[] = [];
  const lines: string[] = [];
  const { category, sink } = bench({
    waitingBytes: () => waiting,
    writeLine: (line, done) => {
      if (waiting + line.length + 1 > MIB - 64 * 1024) return false;
      waiting += line.length + 1;
      lines.push(line);
      settle.push(() => {
        waiting -= line.length + 1;
        done?.();
      });
      return true;
    },
  });
  const quiet = { index: 1, name: 'QUIET', description: '', defaultEnabled: true };
  const of = (name: string) => lines.filter((line) => line.includes(` DEBUG ${name} `)).length;
  const flood = () => {
    for (let call = 0; call < 3000; call++) category.debug('a line that nobody reads', { wide: 'x'.repeat(500) });
  };
  for (let round = 1; round <= 3; round++) {
    flood();
    const before = of('FLOOD');
    for (let call = 0; call < 20; call++) assert.equal(sink.emit(quiet, 'all is well', undefined), undefined);
    flood();
    assert.deepEqual([of('FLOOD'), of('QUIET')], [before, round * 20]);
    for (const done of settle.splice(0)) done();
  }
});

test('an output that is still not read is said to be so, also when nothing more is dropped', async () => {
  let waiting = MIB;
  const { time, messages, conditions, category } = bench({ writeLine: () => false, waitingBytes: () => waiting });
  category.debug('not read');
  await time.pass(60_000);
  assert.deepEqual([conditions.holding.length, messages.length], [1, 1]);
  waiting = 0;
  await time.pass(5000);
  assert.deepEqual([conditions.holding.length, messages[1]], [0, 'debug lines are read again: 1 were dropped']);
});

test('a function whose promises never settle is said to be too slow for as long', async () => {
  const { time, conditions, category } = bench({ to: () => new Promise<void>(() => {}) });
  for (let call = 0; call < 1001; call++) category.debug('stored in a moment');
  await time.pass(60_000);
  assert.equal(conditions.holding.length, 1);
});

test('a function whose promises stay pending is asked no further, until they settle', async () => {
  const settle: (() => void)[] = [];
  const to = (_record: DebugRecord) => new Promise<void>((resolve) => settle.push(resolve));
  const { time, messages, category, counts } = bench({ to });
  for (let call = 0; call < 1200; call++) category.debug('stored in a moment');
  assert.deepEqual([settle.length, ...counts()], [1000, 1200, 200]);
  for (const resolve of settle.splice(0)) resolve();
  await time.pass(10_000);
  category.debug('stored in a moment');
  assert.deepEqual([settle.length, ...counts()], [1, 1201, 200]);
  assert.match(messages[0]!, /^the function of emit\.to is too slow: 1000 of its promises are pending/);
  assert.equal(messages[1], 'debug lines are read again: 200 were dropped');
});

test('a call whose record goes out is counted as dropped where its line is', (t) => {
  const exporter = keepRecords();
  t.after(() => logs.disable());
  const { category, counts } = bench({ to: 'both', writeLine: () => false });
  category.debug('not read');
  assert.deepEqual([exporter.getFinishedLogRecords().length, ...counts()], [1, 1, 1]);
});

interface Counted {
  readonly url: string;
  readonly calls: number;
  readonly dropped: number;
  readonly waiting: number;
}

async function nextMessage(app: ChildProcess): Promise<Counted> {
  const [message] = await once(app, 'message');
  return message;
}

for (const to of ['stderr', 'json'] as const) {
  inFull(`a flood on ${to} that is read slowly keeps 1 MiB, and what is not written is counted exactly`, async (t) => {
    const cwd = newFolder(t);
    // Not the options of this process, whose paths are relative to another folder.
    const options = { cwd, execArgv: [], stdio: ['ignore', 'ignore', 'pipe', 'ipc'] as StdioOptions };
    const app = fork(join(import.meta.dirname, 'flooding-app.ts'), [to], options);
    t.after(() => app.kill('SIGKILL'));
    const { url: baseUrl } = await nextMessage(app);
    const apiKey = readFileSync(join(cwd, '.rdcp', 'dev-key'), 'utf8').trim();
    app.send(30_000);
    const counted = await nextMessage(app);
    assert.equal(counted.calls, 30_000);
    assert.ok(counted.waiting <= MIB, `${counted.waiting} bytes wait`);
    assert.ok(counted.dropped > 10_000, `${counted.dropped} were dropped`);
    const { status, checks } = await createRdcpClient({ baseUrl, apiKey }).health();
    assert.equal(status, 'degraded');
    assert.match(checks.find(({ name }) => name === 'emit')?.otelrdcp_reason ?? '', /stderr is not read/);
    let text = '';
    app.stderr!.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
    });
    const lines = () => text.split('\n').filter((line) => line.includes('a line that nobody reads'));
    const expected = counted.calls - counted.dropped;
    await until('what was not dropped', () => lines().length >= expected);
    assert.equal(lines().length, expected);
    assert.match(text, /^rdcp: stderr is not read: /m, "this package's own messages have room left");
    app.send(10);
    const { dropped } = await nextMessage(app);
    assert.equal(dropped, counted.dropped, 'a reader that has caught up gets every line');
  });
}
