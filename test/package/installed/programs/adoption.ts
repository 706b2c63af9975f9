// Loggers as an application uses them, under `register`: their lines reach a tail.

import assert from 'node:assert/strict';
import debug from 'debug';
import { createRdcpClient } from 'opentelemetry-instrumentation-rdcp/client';
import { pino } from 'pino';
import winston from 'winston';
import { KEY, until } from './service.ts';

const database = debug('shop:database');
const orders = pino({ name: 'orders' });
const mails = winston.createLogger({
  defaultMeta: { service: 'mails' },
  transports: [new winston.transports.Console()],
});
const client = createRdcpClient({ baseUrl: `http://127.0.0.1:${process.env.RDCP_PORT}`, apiKey: KEY });
await until(() => client.health().catch(() => undefined));
const { categories } = await client.discovery();
const names = categories.map(({ name }) => name).filter((name) => /DATABASE|ORDERS|MAILS|WINSTON/.test(name));
assert.equal(names.length, 3);
const waiting = new Set(names);
for await (const event of client.tail(names)) {
  if (event.event === 'line') waiting.delete(event.data.category);
  if (waiting.size === 0) break;
  database('query %d', 42);
  orders.debug('placed');
  mails.debug('sent');
}
