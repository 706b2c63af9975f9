import { type Context, context, createContextKey, ROOT_CONTEXT } from '@opentelemetry/api';

/**
 * The key under which OpenTelemetry's own exporters switch tracing off for their work. `suppressTracing` is in
 * `@opentelemetry/core`, which is no dependency of ours; `createContextKey` is `Symbol.for` on both living lines, so the
 * same description is the same key.
 */
const SUPPRESS_TRACING = createContextKey('OpenTelemetry SDK Context Key SUPPRESS_TRACING');

const SUPPRESSED_ROOT = suppressed(ROOT_CONTEXT);

function suppressed(active: Context): Context {
  return active.setValue(SUPPRESS_TRACING, true);
}

/**
 * Runs `fn` so that it starts no spans. The active span stays active: audit records made inside carry its trace. The
 * server span of `instrumentation-http` begins before us, and is the user's to configure.
 */
export function withoutTracing<T>(fn: () => T): T {
  const active = context.active();
  return context.with(active === ROOT_CONTEXT ? SUPPRESSED_ROOT : suppressed(active), fn);
}
