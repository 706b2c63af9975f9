// In a process of its own: it installs global providers of OpenTelemetry.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, beforeEach, describe, it } from 'node:test';
import { context, logs, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { InMemoryLogRecordExporter, LoggerProvider, SimpleLogRecordProcessor } from '@opentelemetry/sdk-logs';
import { TracerProvider } from '@opentelemetry/sdk-trace';
import type { OutputOptions } from '../../src/calls/emit/outputs.ts';
import type { CategoryDescriptor } from '../../src/gate/types.ts';
import type { DebugRecord } from '../../src/index.ts';
import { createTelemetry } from '../../src/otel/telemetry.ts';
import { built } from '../support/built.ts';
import { PROGRAM_ENV } from '../support/program-env.ts';
import { sinkOf } from '../support/sink.ts';
import { inFull } from '../support/tiers.ts';

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

/** Registers a provider whose records are kept. */
function registerKept(): InMemoryLogRecordExporter {
  const exporter = new InMemoryLogRecordExporter();
  logs.setGlobalLoggerProvider(new LoggerProvider({ processors: [new SimpleLogRecordProcessor({ exporter })] }));
  return exporter;
}

describe('debug calls', () => {
  beforeEach(() => logs.disable());
  after(() => logs.disable());

  it('show stacks in lines of their own below, and the ids of the span once', () => {
    const lines: string[] = [];
    const sink = sinkOf({
      clock: { now: () => NOON },
      reporter: { warn: () => undefined },
      writeLine: (line) => lines.push(line),
    });
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
    const { to, lines, records } = emitted({}, registerKept());
    assert.deepEqual([to, lines, records], ['otel', [], 2]);
  });

  it('go to OpenTelemetry alone where a variable configures the export, which is named as the reason', () => {
    registerKept();
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
    const lines: string[] = [];
    const sink = sinkOf({
      clock: { now: () => NOON },
      writeLine: (l) => lines.push(l),
    });
    sink.emit(PAYMENTS, 'before', undefined);
    assert.equal(sink.outputs.emission.to, 'stderr');
    const exporter = registerKept();
    assert.equal(sink.outputs.emission.to, 'otel');
    sink.emit(PAYMENTS, 'charging', undefined);
    assert.deepEqual([lines.length, exporter.getFinishedLogRecords().length], [1, 1]);
  });

  it('go where emit.to says', () => {
    const exporter = registerKept();
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
    const exporter = registerKept();
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
