import { SpanKind, trace } from '@opentelemetry/api';
import type Koa from 'koa';

const tracer = trace.getTracer('shop');

/** A span for each request, so that everything debugged in it carries one trace id. */
export const requestSpans: Koa.Middleware = (ctx, next) =>
  tracer.startActiveSpan(`${ctx.method} ${ctx.path}`, { kind: SpanKind.SERVER }, async (span) => {
    try {
      await next();
      span.setAttribute('http.response.status_code', ctx.status);
    } finally {
      span.end();
    }
  });
