// A service that ends in the middle of a request, in the way that the request's path names. Without arguments it is under register.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { logs } from '@opentelemetry/api';
import { BatchLogRecordProcessor, InMemoryLogRecordExporter, LoggerProvider } from '@opentelemetry/sdk-logs';
import { createRdcp, type RdcpConfig } from 'opentelemetry-instrumentation-rdcp';
import { category } from 'opentelemetry-instrumentation-rdcp/api';

const [config, exports] = process.argv.slice(2);
if (exports === 'true') {
  // Exports later than the process lives.
  const processor = new BatchLogRecordProcessor({ exporter: new InMemoryLogRecordExporter() });
  logs.setGlobalLoggerProvider(new LoggerProvider({ processors: [processor] }));
}
const rdcp = config === undefined ? undefined : createRdcp(JSON.parse(config) as RdcpConfig);
const orders = category('ORDERS');

const ENDS: Readonly<Record<string, () => unknown>> = {
  throws: () => {
    setImmediate(() => {
      throw new TypeError('broken');
    });
  },
  rejects: () => void Promise.reject(new RangeError('broken')),
  exits: () => process.exit(0),
  waits: () => process.send?.('waits'),
};

if (rdcp !== undefined) process.once('SIGINT', () => process.exit(0));
const url = (await rdcp?.listen())?.url;
const server = createServer(async (request) => {
  orders.debug('begun');
  await turn();
  orders.debug('in the middle');
  ENDS[request.url!.slice(1)]!();
}).listen(0, '127.0.0.1', () => process.send?.({ url, port: (server.address() as AddressInfo).port }));
