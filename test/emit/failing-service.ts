// A service of which one request in a hundred fails. Each request makes five debug lines, between which it lets others run, by
// the logger that its environment names.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { SpanKind, trace } from '@opentelemetry/api';
import createDebug from 'debug';
import { category } from 'opentelemetry-instrumentation-rdcp/api';
import { pino } from 'pino';

type Log = (message: string, attributes: { readonly request: number; readonly line: number }) => void;

const LOGGERS: Readonly<Record<string, () => Log>> = {
  category() {
    const orders = category('ORDERS');
    return (message, attributes) => orders.debug(message, attributes);
  },
  pino() {
    const orders = pino({ name: 'orders' });
    return (message, attributes) => orders.debug(attributes, message);
  },
  debug() {
    const orders = createDebug('orders');
    return (message) => orders(message);
  },
};

const log = LOGGERS[process.env.LOGGER as string]!();
const tracer = trace.getTracer('shop');

const server = createServer((request, response) => {
  const number = Number(request.url!.slice(1));
  tracer.startActiveSpan('order', { kind: SpanKind.SERVER }, async (span) => {
    for (let line = 0; line < 5; line++) {
      log(`request ${number} line ${line}`, { request: number, line });
      if (line % 2 === 0) await turn();
    }
    response.statusCode = number % 100 === 0 ? 500 : 200;
    response.setHeader('trace-id', span.spanContext().traceId).end();
    span.end();
  });
}).listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.once('disconnect', () => process.exit());
