// In a process of its own: it installs global providers of OpenTelemetry.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, beforeEach, describe, it, test } from 'node:test';
import { inspect } from 'node:util';
import { runInNewContext } from 'node:vm';
import { context, logs, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import type { InMemoryLogRecordExporter } from '@opentelemetry/sdk-logs';
import { TracerProvider } from '@opentelemetry/sdk-trace';
import type { OutputOptions } from '../../src/calls/emit/outputs.ts';
import type { Attributes, CategoryDescriptor } from '../../src/gate/types.ts';
import { createRdcp, type DebugRecord } from '../../src/index.ts';
import { createTelemetry } from '../../src/otel/telemetry.ts';
import { rdcp as command } from '../cli/run.ts';
import { built } from '../support/built.ts';
import { PROGRAM_ENV } from '../support/program-env.ts';
import { KEYS, type KeyName, send } from '../support/server.ts';
import { startService } from '../support/service.ts';
import { sinkOf } from '../support/sink.ts';
import { inFull } from '../support/tiers.ts';
import { keepRecords } from './kept-records.ts';

const PAYMENTS: CategoryDescriptor = { index: 0, name: 'PAYMENTS', description: '', defaultEnabled: false };
const NOON = Date.UTC(2026, 0, 31, 12);
const LINE = '2026-01-31T12:00:00.000Z DEBUG PAYMENTS charging {"order":42} tenant=acme';
const OTLP = 'OTEL_EXPORTER_OTLP_ENDPOINT';

context.setGlobalContextManager(new AsyncLocalStorageContextManager());
const tracer = new TracerProvider({ spanProcessors: [] }).getTracer('application');

/** A call with these options: what came out on stderr, as warnings, and as log records. */
function emitted(options: Partial<OutputOptions>, exporter?: InMemoryLogRecordExporter) {
  const lines: string[] = [];
  const warnings: string[] = [];
  const sink = sinkOf({
    clock: { now: () => NOON },
    reporter: { warn: (message) => warnings.push(message) },
    writeLine: (line) => lines.push(line),
    ...options,
  });
  sink.emit(PAYMENTS, 'charging', { order: 42 }, 'acme');
  sink.emit(PAYMENTS, 'again', undefined);
  return {
    lines: lines.slice(0, 1),
    warnings,
    records: exporter?.getFinishedLogRecords().length ?? 0,
    to: sink.outputs.emission.to,
    reason: sink.outputs.emission.reason,
    lost: sink.outputs.lost,
  };
}

function bench() {
  const lines: string[] = [];
  const sink = sinkOf({ clock: { now: () => NOON }, writeLine: (line) => lines.push(line) });
  return { sink, lines };
}

describe('debug calls', () => {
  beforeEach(() => logs.disable());
  after(() => logs.disable());

  it('show stacks in lines of their own below, and the ids of the span once', () => {
    const { sink, lines } = bench();
    const failure = new RangeError('no\u001b credit', { cause: new Error('too little') });
    failure.stack = 'RangeError: no\u001b credit\n    at pay (pay.js:1:2)\n2026 DEBUG FORGED';
    (failure.cause as Error).stack = 'Error: too little\n    at count (pay.js:9:9)';
    tracer.startActiveSpan('order', (span) => {
      const { traceId, spanId } = span.spanContext();
      sink.emit(PAYMENTS, 'refused', { trace_id: traceId, span_id: spanId, trace_flags: '01', order: 42, failure });
      const causes = '"failure":{"cause":{"type":"Error","message":"too little"}}';
      const error = '"exception.type":"RangeError","exception.message":"no\\u001b credit"';
      const given = `{"order":42,${error},${causes}}`;
      assert.deepEqual(lines.join('\n').split('\n'), [
        `2026-01-31T12:00:00.000Z DEBUG PAYMENTS refused ${given} trace_id=${traceId} span_id=${spanId}`,
        '    RangeError: no\\u001b credit',
        '        at pay (pay.js:1:2)',
        '    2026 DEBUG FORGED',
        '    Error: too little',
        '        at count (pay.js:9:9)',
      ]);
    });
    const before = lines.length;
    sink.emit(PAYMENTS, 'refused Error: no\n    at pay (pay.js:1:2)', { trace_id: 'of another' });
    assert.deepEqual(lines.slice(before).join('\n').split('\n'), [
      '2026-01-31T12:00:00.000Z DEBUG PAYMENTS refused Error: no {"trace_id":"of another"}',
      '        at pay (pay.js:1:2)',
    ]);
  });

  it('go to stderr where no logger provider is registered, whatever the variables say', () => {
    for (const env of [{}, { [OTLP]: 'http://collector:4318' }]) {
      const { to, lines } = emitted({ env });
      assert.deepEqual([to, lines], ['stderr', [LINE]]);
    }
  });

  it('go to OpenTelemetry alone where the application registered a logger provider of its own', () => {
    const { to, lines, records } = emitted({}, keepRecords());
    assert.deepEqual([to, lines, records], ['otel', [], 2]);
  });

  it('go to OpenTelemetry alone where a variable configures the export, which is named as the reason', () => {
    keepRecords();
    for (const env of [{ [OTLP]: 'http://localhost:4318' }, { OTEL_LOGS_EXPORTER: 'otlp' }]) {
      const { to, lines, reason } = emitted({ env });
      assert.deepEqual([to, lines], ['otel', []]);
      assert.equal(reason, `${Object.keys(env)[0]} is set`);
    }
    for (const env of [{ OTEL_LOGS_EXPORTER: 'none', [OTLP]: 'http://x' }, { [OTLP]: ' ' }]) {
      assert.equal(emitted({ env }).reason, 'the application registered a logger provider');
    }
  });

  it('follow a logger provider that is registered later', () => {
    const { sink, lines } = bench();
    sink.emit(PAYMENTS, 'before', undefined);
    assert.equal(sink.outputs.emission.to, 'stderr');
    const exporter = keepRecords();
    assert.equal(sink.outputs.emission.to, 'otel');
    sink.emit(PAYMENTS, 'charging', undefined);
    assert.deepEqual([lines.length, exporter.getFinishedLogRecords().length], [1, 1]);
  });

  it('go where emit.to says', () => {
    const exporter = keepRecords();
    const of = (to: OutputOptions['to']) => {
      exporter.reset();
      const { lines, records, reason } = emitted({ to }, exporter);
      assert.equal(reason, 'emit.to is configured');
      return [lines, records];
    };
    assert.deepEqual(of('otel'), [[], 2]);
    assert.deepEqual(of('stderr'), [[LINE], 0]);
    assert.deepEqual(of('both'), [[LINE], 2]);
    const json =
      '{"timestamp":"2026-01-31T12:00:00.000Z","severity":"DEBUG","category":"PAYMENTS","message":"charging","attributes":{"order":42},"tenant":"acme"}';
    assert.deepEqual(of('json'), [[json], 0]);
    const given: DebugRecord[] = [];
    assert.deepEqual(
      of((record) => given.push(record)),
      [[], 0],
    );
    assert.deepEqual(given[0], JSON.parse(json));
  });

  it('go nowhere, and say so once, where emit.to says otel and no provider is registered', () => {
    const { to, lines, warnings, reason, lost } = emitted({ to: 'otel' });
    const problem = 'no OpenTelemetry logger provider is registered';
    assert.deepEqual([to, lines, lost], ['otel', [], true]);
    assert.deepEqual(warnings, [`debug lines go nowhere: emit.to is 'otel', and ${problem}`]);
    assert.equal(reason, `emit.to is configured, but ${problem}`);
    const both = emitted({ to: 'both' });
    assert.deepEqual([both.to, both.lines, both.lost], ['stderr', [LINE], false]);
  });

  it('carry the ids of the active span, as JSON and as records', () => {
    const exporter = keepRecords();
    const lines: string[] = [];
    const records: DebugRecord[] = [];
    const common = {
      telemetry: createTelemetry(),
      clock: { now: () => NOON },
      writeLine: (l: string) => lines.push(l),
    };
    const span = tracer.startSpan('request');
    const { traceId, spanId } = span.spanContext();
    context.with(trace.setSpan(context.active(), span), () => {
      sinkOf({ ...common, to: 'json' }).emit(PAYMENTS, 'charging\n', { note: '\u2028' });
      sinkOf({ ...common, to: (record) => void records.push(record) }).emit(PAYMENTS, 'charging', undefined);
      sinkOf({ ...common, to: 'otel' }).emit(PAYMENTS, 'charging', undefined);
    });
    assert.partialDeepStrictEqual(exporter.getFinishedLogRecords()[0]?.spanContext, { traceId, spanId });
    assert.doesNotMatch(lines[0] ?? '', /[\n\u2028]/);
    const { trace_id, span_id, message, attributes } = JSON.parse(lines[0] ?? '');
    assert.deepEqual([trace_id, span_id, message, attributes], [traceId, spanId, 'charging\n', { note: '\u2028' }]);
    assert.deepEqual([records[0]?.traceId, records[0]?.spanId], [traceId, spanId]);
  });

  it('survive a function whose promise is rejected', async () => {
    const rejections: unknown[] = [];
    const listener = (error: unknown) => rejections.push(error);
    process.on('unhandledRejection', listener);
    emitted({ to: async () => Promise.reject(new Error('down')) });
    // Node reports a rejection before the next turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', listener);
    assert.deepEqual(rejections, []);
  });
});

describe('a debug call', () => {
  beforeEach(() => logs.disable());
  after(() => logs.disable());

  it('becomes an OpenTelemetry log record with severity, body, attributes and category', () => {
    const exporter = keepRecords();
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
    const exporter = keepRecords();
    const { sink } = bench();
    const error = new TypeError('no total');
    const throwing = () => {
      throw error;
    };
    assert.deepEqual(sink.emit(PAYMENTS, 'charged', throwing), { error });
    // The types do not allow it; a caller without types may do it. Its rejection must end nothing.
    const late = (async () => Promise.reject(new Error('too late'))) as unknown as () => Attributes;
    assert.match(inspect(sink.emit(PAYMENTS, 'charged', late)), /asynchronous/);
    // Of another realm, as code that Jest runs in its own context makes them.
    const foreign: () => Attributes = runInNewContext('() => Promise.reject(new Error("too late"))');
    assert.match(inspect(sink.emit(PAYMENTS, 'charged', foreign)), /asynchronous/);
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
    const exporter = keepRecords();
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
    const exporter = keepRecords();
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
    const exporter = keepRecords({ enabled: false });
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

describe('a NodeSDK of the application', () => {
  const root = JSON.stringify(built('index.js'));
  const run = (sdkOptions: string, env: Record<string, string> = {}) => {
    const script = `
      const { NodeSDK } = await import('@opentelemetry/sdk-node');
      const { RdcpInstrumentation } = await import(${root});
      const kept = { onEmit: (record) => console.log(record.body), forceFlush: async () => {}, shutdown: async () => {} };
      const rdcp = new RdcpInstrumentation({ server: { port: 0 }, categories: { SHOP: { enabled: true } } });
      const sdk = new NodeSDK({ instrumentations: [rdcp], metricReaders: [], spanProcessors: [], ${sdkOptions} });
      sdk.start();
      await rdcp.listen();
      rdcp.rdcp.category('SHOP').debug('sold');
      setTimeout(() => process.exit(0), 200);`;
    return spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
      timeout: 30_000,
      env: { ...PROGRAM_ENV, ...env },
    });
  };

  it('gets the records alone, and the start says so', () => {
    const { stdout, stderr } = run('logRecordProcessors: [kept]');
    assert.match(stderr, /^rdcp: remote control on http:\S+ and debug lines to OpenTelemetry$/m);
    assert.doesNotMatch(stderr, / DEBUG SHOP /);
    assert.equal(stdout, 'sold\n');
  });

  inFull('that exports no log records leaves the lines on stderr', () => {
    const { stderr } = run('', { OTEL_LOGS_EXPORTER: 'none' });
    assert.match(stderr, / and debug lines to stderr$/m);
    assert.match(stderr, / DEBUG SHOP sold$/m);
  });
});

interface Answer {
  readonly status?: string;
  readonly checks?: readonly { readonly name: string; readonly status: string; readonly otelrdcp_reason?: string }[];
}

const PATHS = ['/.well-known/rdcp', '/rdcp/v1/health'];

test('only a credential with the scope status sees where debug calls go', async (t) => {
  const { url } = await startService(t, { emit: undefined });
  const emitOf = async (path: string, key?: KeyName) =>
    (await send<{ otelrdcp_emit?: object }>(url + path, key && { key })).body.otelrdcp_emit;
  for (const path of PATHS) {
    const reason = 'no OpenTelemetry logger provider is registered';
    assert.deepEqual(await emitOf(path, 'status'), { to: 'stderr', reason });
    assert.deepEqual([await emitOf(path, 'discovery'), await emitOf(path)], [undefined, undefined], path);
  }
});

test('health is degraded, and says why, where debug calls go nowhere', async (t) => {
  const { url } = await startService(t, { emit: { to: 'otel' } });
  const { status, checks } = (await send<Answer>(`${url}/rdcp/v1/health`, { key: 'status' })).body;
  assert.equal(status, 'degraded');
  const failed = checks?.find(({ name }) => name === 'emit');
  assert.equal(failed?.status, 'warn');
  assert.match(failed?.otelrdcp_reason ?? '', /debug lines go nowhere: .*no OpenTelemetry logger provider/);
  const { stdout } = await command(['health', '--url', url], { env: { RDCP_API_KEY: KEYS.status } });
  assert.match(
    stdout,
    /^degraded\ndebug lines to OpenTelemetry \(emit\.to is configured, but no OpenTelemetry logger provider is registered\)$/m,
  );
});

test('a wrong place for debug calls stops the start, and names what is allowed', () => {
  for (const to of ['console', 7, {}]) {
    assert.throws(
      () => createRdcp({ server: false, emit: { to: to as 'otel' } }),
      /configuration: emit\.to must be 'otel', 'stderr', 'both', 'json' or a function/,
    );
  }
});
