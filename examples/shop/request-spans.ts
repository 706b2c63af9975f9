import { metrics, SpanKind, trace } from '@opentelemetry/api';
import type Koa from 'koa';

const tracer = trace.getTracer('shop');
const duration = metrics.getMeter('shop').createHistogram('http.server.request.duration', { unit: 's' });

/** A span for each request, so that everything debugged in it carries one trace id, and its duration for the alerts. */
export const requestSpans: Koa.Middleware = (ctx, next) =>
  tracer.startActiveSpan(`${ctx.method} ${ctx.path}`, { kind: SpanKind.SERVER }, async (span) => {
    const startedAt = performance.now();
    try {
      await next();
      span.setAttribute('http.response.status_code', ctx.status);
    } finally {
      span.end();
      duration.record((performance.now() - startedAt) / 1000, {
        'http.request.method': ctx.method,
        'http.response.status_code': ctx.status,
      });
    }
  });
