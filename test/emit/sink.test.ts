import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, beforeEach, describe, it } from 'node:test';
import { context, logs, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { InMemoryLogRecordExporter, LoggerProvider, SimpleLogRecordProcessor } from '@opentelemetry/sdk-logs';
import { TracerProvider } from '@opentelemetry/sdk-trace';
import { createSink } from '../../src/emit/sink.ts';
import type { CategoryDescriptor } from '../../src/gate/types.ts';
import { createTelemetry } from '../../src/telemetry.ts';

const PAYMENTS: CategoryDescriptor = { index: 0, name: 'PAYMENTS', description: '', defaultEnabled: false };
const NOON = Date.UTC(2026, 0, 31, 12);

context.setGlobalContextManager(new AsyncLocalStorageContextManager());
const tracer = new TracerProvider({ spanProcessors: [] }).getTracer('application');

function bench() {
  const lines: string[] = [];
  const sink = createSink({
    telemetry: createTelemetry(),
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

  it('carries the ids of the active span', () => {
    const exporter = registerLogs();
    const { sink } = bench();
    const span = tracer.startSpan('request');
    context.with(trace.setSpan(context.active(), span), () => sink.emit(PAYMENTS, 'charging', undefined));
    const [record] = exporter.getFinishedLogRecords();
    assert.equal(record?.spanContext?.traceId, span.spanContext().traceId);
    assert.equal(record?.spanContext?.spanId, span.spanContext().spanId);
  });

  it('cannot pass for another category by its attributes', () => {
    const exporter = registerLogs();
    const attributes = { 'rdcp.category.name': 'AUDIT' };
    bench().sink.emit(PAYMENTS, 'charging', attributes);
    assert.equal(exporter.getFinishedLogRecords()[0]?.attributes['rdcp.category.name'], 'PAYMENTS');
    assert.deepEqual(attributes, { 'rdcp.category.name': 'AUDIT' }, 'the caller keeps its own object as it was');
  });

  it('is a line to read while no logger provider is registered, and a record from then on', () => {
    const { sink, lines } = bench();
    sink.emit(PAYMENTS, 'before', { order: 42 });
    assert.deepEqual(lines, ['2026-01-31T12:00:00.000Z DEBUG PAYMENTS before {"order":42}']);
    const exporter = registerLogs();
    sink.emit(PAYMENTS, 'after', undefined);
    assert.equal(lines.length, 1);
    assert.equal(exporter.getFinishedLogRecords()[0]?.body, 'after');
  });

  it('names the active span in its line', () => {
    const { sink, lines } = bench();
    const span = tracer.startSpan('request');
    context.with(trace.setSpan(context.active(), span), () => sink.emit(PAYMENTS, 'charging', undefined));
    const { traceId, spanId } = span.spanContext();
    assert.deepEqual(lines, [`2026-01-31T12:00:00.000Z DEBUG PAYMENTS charging trace_id=${traceId} span_id=${spanId}`]);
  });

  it('stays one line, without a control character, whatever it holds', () => {
    const { sink, lines } = bench();
    sink.emit(PAYMENTS, 'a\nb\u001b[31m\u2028\u202Ec\u0085', { text: 'd\r\ne\u009b' });
    assert.equal(
      lines[0],
      String.raw`2026-01-31T12:00:00.000Z DEBUG PAYMENTS a\u000ab\u001b[31m\u2028\u202ec\u0085 {"text":"d\r\ne\u009b"}`,
    );
  });

  it('is written although its attributes are no JSON', () => {
    const { sink, lines } = bench();
    const cycle: Record<string, unknown> = { amount: 10n };
    cycle.self = cycle;
    sink.emit(PAYMENTS, 'odd', cycle as never);
    assert.match(lines[0] ?? '', /PAYMENTS odd .*amount: 10n.*Circular/);
    assert.doesNotMatch(lines[0] ?? '', /\n/);
  });

  it('is not written on stderr where the SDK that is registered wants none of it', () => {
    const exporter = registerLogs({ enabled: false });
    const { sink, lines } = bench();
    sink.emit(PAYMENTS, 'charging', undefined);
    assert.deepEqual(lines, []);
    assert.deepEqual(exporter.getFinishedLogRecords(), []);
  });

  it('goes to stderr by default, and bears one that is closed', () => {
    const source = (path: string) => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);
    const script = `
      const { createSink } = await import(${source('emit/sink.ts')});
      const { createTelemetry } = await import(${source('telemetry.ts')});
      const sink = createSink({ telemetry: createTelemetry(), clock: { now: () => 0 } });
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
