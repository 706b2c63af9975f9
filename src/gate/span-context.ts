import type { SpanIds } from './thread-messages.ts';

// The gate imports nothing, so it reads the global registry that all copies of the OpenTelemetry API share.

const API_REGISTRY = Symbol.for('opentelemetry.js.api.1');
const SPAN_KEY = Symbol.for('OpenTelemetry Context Key SPAN');

interface Context {
  getValue(key: symbol): { spanContext(): SpanIds } | undefined;
  setValue(key: symbol, value: unknown): Context;
}

interface ContextManager {
  active(): Context;
  with<T>(context: Context, fn: () => T): T;
}

function contextManager(): ContextManager | undefined {
  return (globalThis as { [API_REGISTRY]?: { context?: ContextManager } })[API_REGISTRY]?.context;
}

/** Returns the ids of the active span, or `undefined` without a span or without OpenTelemetry. */
export function activeSpan(): SpanIds | undefined {
  const span = contextManager()?.active().getValue(SPAN_KEY)?.spanContext();
  return span && { traceId: span.traceId, spanId: span.spanId, traceFlags: span.traceFlags };
}

/** Runs `fn` with a span of another thread as the active span. */
export function withSpan(span: SpanIds | undefined, fn: () => void): void {
  const manager = contextManager();
  if (span === undefined || manager === undefined) {
    fn();
    return;
  }
  const remote = { spanContext: () => ({ ...span, isRemote: true }), isRecording: () => false };
  manager.with(manager.active().setValue(SPAN_KEY, remote), fn);
}
