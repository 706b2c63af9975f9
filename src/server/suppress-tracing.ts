import { type Context, context, createContextKey } from '@opentelemetry/api';

/**
 * The key under which OpenTelemetry's own exporters switch tracing off for their work. `suppressTracing` is in
 * `@opentelemetry/core`, which is no dependency of ours; `createContextKey` is `Symbol.for` on both living lines, so the
 * same description is the same key.
 */
const SUPPRESS_TRACING = createContextKey('OpenTelemetry SDK Context Key SUPPRESS_TRACING');

/**
 * Runs `fn` so that it starts no spans. The active span stays active: audit records made inside carry its trace. The
 * server span of `instrumentation-http` begins before us, and is the user's to configure.
 */
export function withoutTracing<T>(fn: () => T): T {
  const suppressed: Context = context.active().setValue(SUPPRESS_TRACING, true);
  return context.with(suppressed, fn);
}
