import { type Context, context, createContextKey, ROOT_CONTEXT } from '@opentelemetry/api';

/**
 * The context key by which OpenTelemetry's own exporters suppress tracing. `suppressTracing` is in
 * `@opentelemetry/core`, which we do not depend on; `createContextKey` is `Symbol.for` in 1.x and 2.x, so the same
 * description gives the same key.
 */
const SUPPRESS_TRACING = createContextKey('OpenTelemetry SDK Context Key SUPPRESS_TRACING');

const SUPPRESSED_ROOT = suppressed(ROOT_CONTEXT);

function suppressed(active: Context): Context {
  return active.setValue(SUPPRESS_TRACING, true);
}

/**
 * Runs `fn` without starting spans. The active span stays active, so audit records carry its trace. The server span of
 * `instrumentation-http` starts earlier and is configured by the user.
 */
export function withoutTracing<T>(fn: () => T): T {
  const active = context.active();
  return context.with(active === ROOT_CONTEXT ? SUPPRESSED_ROOT : suppressed(active), fn);
}

/** Whether tracing is suppressed here, as inside OpenTelemetry's exporters. */
export function isTracingSuppressed(): boolean {
  return context.active().getValue(SUPPRESS_TRACING) === true;
}
