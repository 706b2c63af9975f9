// In a process of its own: it installs global providers of OpenTelemetry.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { trace } from '@opentelemetry/api';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { withoutTracing } from '../src/otel/own-work.ts';

const started: string[] = [];
const sdk = new NodeSDK({
  autoDetectResources: false,
  instrumentations: [],
  spanProcessors: [
    {
      onStart: (span) => started.push(span.name),
      onEnd: () => undefined,
      forceFlush: async () => undefined,
      shutdown: async () => undefined,
    },
  ],
});

before(() => sdk.start());
after(() => sdk.shutdown());

test('work of our own starts no spans, also asynchronously, and keeps the active span for the audit trail', async () => {
  const tracer = trace.getTracer('test');
  await tracer.startActiveSpan('request', async (request) => {
    await withoutTracing(async () => {
      tracer.startSpan('ours').end();
      await Promise.resolve();
      tracer.startSpan('ours, later').end();
      assert.equal(trace.getActiveSpan()?.spanContext().traceId, request.spanContext().traceId);
    });
    tracer.startSpan('theirs').end();
    request.end();
  });
  assert.deepEqual(started, ['request', 'theirs']);
});
