import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { context, propagation, SpanKind, trace } from '@opentelemetry/api';

const tracer = trace.getTracer('one-request');

/**
 * Serves HTTP until the process is stopped. Each request runs in its caller's trace and with its baggage, as with
 * OpenTelemetry's instrumentation of HTTP, which your services may have.
 */
export function serve(listener: RequestListener): void {
  const server = createServer((request, response) => {
    const caller = propagation.extract(context.active(), request.headers);
    tracer.startActiveSpan(`${request.method} ${request.url}`, { kind: SpanKind.SERVER }, caller, (span) => {
      response.once('close', () => span.end());
      listener(request, response);
    });
  });
  server.listen(Number(process.env.PORT), '127.0.0.1', () => {
    process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  });
  const stop = () => {
    server.close();
    server.closeIdleConnections();
    if (process.connected) process.disconnect();
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
  // The process that started this one has ended.
  process.once('disconnect', stop);
}

/** Asks the next service. The trace and the baggage, which has the ticket, go with the request. */
export async function next<Answer>(path: string): Promise<Answer> {
  const headers: Record<string, string> = {};
  propagation.inject(context.active(), headers);
  const response = await fetch(`${process.env.NEXT}${path}`, { headers });
  if (!response.ok) throw new Error(`${process.env.NEXT} answered ${response.status}`);
  return (await response.json()) as Answer;
}

/** What a service does between two lines. */
export const work = () => sleep(3);
