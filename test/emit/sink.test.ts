// In a process of its own: it installs global providers of OpenTelemetry.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, beforeEach, describe, it } from 'node:test';
import { runInNewContext } from 'node:vm';
import { logs } from '@opentelemetry/api';
import { InMemoryLogRecordExporter, LoggerProvider, SimpleLogRecordProcessor } from '@opentelemetry/sdk-logs';
import type { Attributes, CategoryDescriptor, Sink } from '../../src/gate/types.ts';
import { sinkOf } from '../support/sink.ts';

const PAYMENTS: CategoryDescriptor = { index: 0, name: 'PAYMENTS', description: '', defaultEnabled: false };
const NOON = Date.UTC(2026, 0, 31, 12);

function failureOf(outcome: ReturnType<Sink['emit']>): string {
  return typeof outcome === 'object' ? String(outcome.error) : '';
}

function bench() {
  const lines: string[] = [];
  const sink = sinkOf({
    clock: { now: () => NOON },
    writeLine: (line) => lines.push(line),
  });
  return { sink, lines };
}

function registerLogs({ enabled = true } = {}) {
  const exporter = new InMemoryLogRecordExporter();
  const processor = new SimpleLogRecordProcessor({ exporter });
  logs.setGlobalLoggerProvider(
    new LoggerProvider({
      processors: [Object.assign(processor, enabled ? {} : { enabled: () => false })],
    }),
  );
  return exporter;
}

describe('a debug call', () => {
  beforeEach(() => logs.disable());
  after(() => logs.disable());

  it('becomes an OpenTelemetry log record with severity, body, attributes and category', () => {
    const exporter = registerLogs();
    const { sink, lines } = bench();
    sink.emit(PAYMENTS, 'charging', { order: 42, currency: 'EUR' });
    const [record] = exporter.getFinishedLogRecords();
    assert.equal(record?.severityNumber, 5);
    assert.equal(record?.severityText, 'DEBUG');
    assert.equal(record?.body, 'charging');
    assert.deepEqual(record?.attributes, { order: 42, currency: 'EUR', 'rdcp.category.name': 'PAYMENTS' });
    assert.equal(record?.instrumentationScope.name, 'opentelemetry-instrumentation-rdcp');
    assert.deepEqual(lines, []);
  });

  it('stays one line, without a control character, whatever it holds', () => {
    const { sink, lines } = bench();
    sink.emit(PAYMENTS, 'a\nb\u001b[31m\u2028\u202Ec\u0085', { text: 'd\r\ne\u009b' });
    assert.equal(
      lines[0],
      String.raw`2026-01-31T12:00:00.000Z DEBUG PAYMENTS a\u000ab\u001b[31m\u2028\u202ec\u0085 {"text":"d\r\ne\u009b"}`,
    );
  });

  it('is emitted without attributes, and says why, where their function throws or is asynchronous', async () => {
    const exporter = registerLogs();
    const { sink } = bench();
    const error = new TypeError('no total');
    const throwing = () => {
      throw error;
    };
    assert.deepEqual(sink.emit(PAYMENTS, 'charged', throwing), { error });
    // The types do not allow it; a caller without types may do it. Its rejection must end nothing.
    const late = (async () => Promise.reject(new Error('too late'))) as unknown as () => Attributes;
    assert.match(failureOf(sink.emit(PAYMENTS, 'charged', late)), /asynchronous/);
    // Of another realm, as code that Jest runs in its own context makes them.
    const foreign: () => Attributes = runInNewContext('() => Promise.reject(new Error("too late"))');
    assert.match(failureOf(sink.emit(PAYMENTS, 'charged', foreign)), /asynchronous/);
    let queries = 0;
    class Query extends Promise<never> {}
    Object.defineProperty(Query.prototype, 'then', { value: () => (queries += 1) });
    sink.emit(PAYMENTS, 'charged', (() => Query.reject(new Error('too late'))) as unknown as () => Attributes);
    const query = Object.fromEntries([['then', () => queries++]]);
    sink.emit(PAYMENTS, 'charged', (() => query) as unknown as () => Attributes);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(queries, 0, 'a lazy query is not sent');
    assert.deepEqual(
      exporter.getFinishedLogRecords().map(({ body, attributes }) => [body, attributes['rdcp.attributes.error']]),
      [
        ['charged', 'the attribute function threw TypeError: no total'],
        ...Array(4).fill(['charged', 'the attribute function is asynchronous']),
      ],
    );
  });

  it('keeps a message that is no string or too long, and the stack trace of one that is an error', () => {
    const exporter = registerLogs();
    const { sink } = bench();
    const given = [new RangeError('too much'), { order: 42 }, 'm'.repeat(1e6)] as unknown as string[];
    for (const message of given) sink.emit(PAYMENTS, message, { tried: 1 });
    const [error, object, long] = exporter.getFinishedLogRecords();
    assert.partialDeepStrictEqual(error?.attributes, { 'exception.type': 'RangeError', tried: 1 });
    assert.match(String(error?.attributes['exception.stacktrace']), /^RangeError: too much\n {4}at /);
    assert.deepEqual([error?.body, object?.body], ['too much', '{"order":42}']);
    assert.match(String(long?.body), /^m{8000,8192}… \[cut from 1000000 characters\]$/);
  });

  it('keeps nested values, and names and numbers that an SDK would lose, in its log record', () => {
    const exporter = registerLogs();
    const { sink } = bench();
    const attributes = JSON.parse(
      '{"__proto__":{"polluted":1},"":1,"team":{"constructor":"F1","__proto__":2},"n":1e300}',
    );
    sink.emit(PAYMENTS, 'odd', { ...attributes, when: new Date(0), list: [1, 'a', { b: null }] });
    assert.deepEqual(exporter.getFinishedLogRecords()[0]?.attributes, {
      'rdcp.category.name': 'PAYMENTS',
      '[__proto__]': { polluted: 1 },
      '[]': 1,
      team: { '[constructor]': 'F1', '[__proto__]': 2 },
      n: '1e+300',
      when: '1970-01-01T00:00:00.000Z',
      list: [1, 'a', { b: null }],
    });
    assert.equal(Reflect.get({}, 'polluted'), undefined);
  });

  it('is not written on stderr where the SDK that is registered wants none of it', () => {
    const exporter = registerLogs({ enabled: false });
    const { sink, lines } = bench();
    sink.emit(PAYMENTS, 'charging', undefined);
    assert.deepEqual(lines, []);
    assert.deepEqual(exporter.getFinishedLogRecords(), []);
  });

  it('goes to stderr by default, and bears one that is closed', () => {
    const source = (path: string) => JSON.stringify(new URL(`../../${path}`, import.meta.url).href);
    const script = `
      const { sinkOf } = await import(${source('test/support/sink.ts')});
      const { createTelemetry } = await import(${source('src/otel/telemetry.ts')});
      const sink = sinkOf({ clock: { now: () => 0 } });
      const category = { index: 0, name: 'PAYMENTS' };
      for (let i = 0; i < 50; i++) {
        sink.emit(category, 'call ' + i);
        sink.emit(category, 'again');
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
      console.log('alive');`;
    const args = ['--input-type=module', '-e', script];
    const open = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 20_000 });
    assert.match(open.stderr, /^1970-01-01T00:00:00.000Z DEBUG PAYMENTS call 0\n/);
    const shell = '"$0" "$@" 2> >(exec true)';
    const closed = spawnSync('bash', ['-c', shell, process.execPath, ...args], { encoding: 'utf8', timeout: 20_000 });
    assert.equal(closed.stdout, 'alive\n');
    assert.equal(closed.status, 0);
  });
});
