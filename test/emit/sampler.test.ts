// In a process of its own: it installs global providers of OpenTelemetry.

import assert from 'node:assert/strict';
import { after, beforeEach, describe, it } from 'node:test';
import { context, type Sampler, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  InMemorySpanExporter,
  ParentBasedSampler,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { gateSampler } from '../../src/calls/emit/sampler.ts';
import { GateCore } from '../../src/gate/core.ts';
import { sinkOf } from '../support/sink.ts';

context.setGlobalContextManager(new AsyncLocalStorageContextManager());
const exporter = new InMemorySpanExporter();
const spanProcessors = [new SimpleSpanProcessor({ exporter })];
const ended = () => exporter.getFinishedSpans().map(({ name }) => name);

const gate = new GateCore();
const sink = sinkOf({ writeLine() {} });
const attachment = gate.attach({ sink, maxCategories: 10, registered() {}, failed() {} });
const payments = gate.category('PAYMENTS');
const orders = gate.category('ORDERS');

/** Makes a provider with that sampler the registered one. */
function sampledBy(sampler: Sampler) {
  trace.disable();
  trace.setGlobalTracerProvider(new TracerProvider({ sampler: gateSampler(sampler), spanProcessors }));
}

/** Runs `fn` in a span of another instrumentation. */
const inSpan = <T>(name: string, fn: () => T): T =>
  trace.getTracer('contrib').startActiveSpan(name, (span) => {
    try {
      return fn();
    } finally {
      span.end();
    }
  });

describe('a sampler that keeps the spans of categories', () => {
  beforeEach(() => {
    exporter.reset();
    attachment.setBase(0, true);
    attachment.setBase(1, false);
  });
  after(() => trace.disable());

  it('keeps the span of a category that is on where the parent was not sampled, and no other', () => {
    sampledBy(new ParentBasedSampler({ root: new AlwaysOffSampler() }));
    inSpan('GET', () => {
      payments.span('charge', () => {});
      orders.span('place', () => {});
    });
    assert.deepEqual(ended(), ['charge']);
  });

  it('keeps it in the trace of its parent, with its attributes', () => {
    sampledBy(new AlwaysOffSampler());
    const parent = inSpan('GET', () => {
      payments.span('charge', (span) => span?.setAttribute('order', 42));
      return trace.getActiveSpan()?.spanContext();
    });
    const [span] = exporter.getFinishedSpans();
    assert.equal(span?.spanContext().traceId, parent?.traceId);
    assert.equal(span?.parentSpanContext?.spanId, parent?.spanId);
    assert.deepEqual(span?.attributes, { 'rdcp.category.name': 'PAYMENTS', order: 42 });
  });

  it('keeps it without a parent, and when it is asynchronous', async () => {
    sampledBy(new AlwaysOffSampler());
    await payments.span('charge', async () => {
      await Promise.resolve();
      trace.getActiveSpan()?.addEvent('declined');
    });
    assert.deepEqual(ended(), ['charge']);
    assert.equal(exporter.getFinishedSpans()[0]?.events[0]?.name, 'declined');
  });

  it('leaves the spans of others inside it, and what is sent to other services, not sampled', () => {
    sampledBy(new ParentBasedSampler({ root: new AlwaysOffSampler() }));
    payments.span('charge', (span) => {
      assert.equal(trace.getActiveSpan(), span);
      assert.equal(trace.getActiveSpan()?.spanContext().traceFlags, 0);
      inSpan('POST', () => payments.span('sign', () => {}));
    });
    assert.deepEqual(ended(), ['sign', 'charge']);
  });

  it('changes nothing where the trace is sampled', () => {
    sampledBy(new ParentBasedSampler({ root: new AlwaysOnSampler() }));
    inSpan('GET', () => payments.span('charge', () => inSpan('POST', () => orders.span('place', () => {}))));
    assert.deepEqual(ended(), ['POST', 'charge', 'GET']);
    assert.deepEqual(new Set(exporter.getFinishedSpans().map((span) => span.spanContext().traceFlags)), new Set([1]));
  });

  it('keeps none once the category is off', () => {
    sampledBy(new AlwaysOffSampler());
    attachment.setBase(0, false);
    payments.span('charge', () => {});
    assert.deepEqual(ended(), []);
  });

  it('names itself, and refuses what is no sampler', () => {
    assert.equal(String(gateSampler(new AlwaysOnSampler())), 'GateSampler{AlwaysOnSampler}');
    assert.throws(() => gateSampler({} as never), /^TypeError: gateSampler: sampler must be a sampler/);
  });
});
