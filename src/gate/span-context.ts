import type { SpanIds } from './thread-memory.ts';

// The gate imports nothing, so what OpenTelemetry's API has registered is found where all copies of it look.

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

/** Ids of the active span; `undefined` without one, or without OpenTelemetry. */
export function activeSpan(): SpanIds | undefined {
  const span = contextManager()?.active().getValue(SPAN_KEY)?.spanContext();
  return span && { traceId: span.traceId, spanId: span.spanId, traceFlags: span.traceFlags };
}

/** Runs `fn` as if that span of another thread were active here. */
export function withSpan(span: SpanIds | undefined, fn: () => void): void {
  const manager = contextManager();
  if (span === undefined || manager === undefined) {
    fn();
    return;
  }
  const remote = { spanContext: () => ({ ...span, isRemote: true }), isRecording: () => false };
  manager.with(manager.active().setValue(SPAN_KEY, remote), fn);
}
