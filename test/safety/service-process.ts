// A service under remote control, as a process of its own: its configuration is its argument, and its first line of output
// says where it listens. What OpenTelemetry and this package have to say of what happens goes to its output.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { DiagConsoleLogger, DiagLogLevel, diag, logs } from '@opentelemetry/api';
import { LoggerProvider, type ReadWriteLogRecord } from '@opentelemetry/sdk-logs';
import { createRdcp, type RdcpConfig } from 'opentelemetry-instrumentation-rdcp';
import { CATEGORIES } from '../support/categories.ts';
import { hostClock } from './host-clock.ts';

interface Instructions {
  readonly config: RdcpConfig;
  readonly logsRecords: boolean;
  /** Listens by a server of its own. */
  readonly mounts: boolean;
}

const { config, logsRecords, mounts } = JSON.parse(process.argv[2] as string) as Instructions;

diag.setLogger(new DiagConsoleLogger(), DiagLogLevel.WARN);
if (logsRecords) {
  const onEmit = ({ eventName, body, attributes }: ReadWriteLogRecord) => {
    process.stdout.write(`record ${JSON.stringify({ eventName, body, attributes })}\n`);
  };
  const nothing = async () => undefined;
  logs.setGlobalLoggerProvider(
    new LoggerProvider({ processors: [{ onEmit, forceFlush: nothing, shutdown: nothing }] }),
  );
}

const rdcp = createRdcp(config);
const categories = CATEGORIES.map((name) => rdcp.category(name, { description: `${name} in the test` }));
const server = createServer(rdcp.callback());
const { url } = mounts ? await listen() : await rdcp.listen();
// What the service is there for: it lives until it is told to end.
const work = setInterval(() => undefined, 1000);
process.once('SIGTERM', () => {
  clearInterval(work);
  server.close();
  void rdcp.close();
});

/** The last moments at which the gate said yes, in milliseconds of the clock that all processes of the host share. */
const moments: number[] = [];
setInterval(() => {
  if (!categories.some(({ enabled }) => enabled)) return;
  moments.push(hostClock());
  if (moments.length > 100) moments.shift();
}, 2).unref();
/** Node records the time between two runs of its timer, which holds the timer's own interval. */
const delay = monitorEventLoopDelay({ resolution: 1 });
process.on('message', (message) => {
  if (message === 'moments') process.send?.(moments);
  if (message !== 'delay') return;
  const p99 = Math.max(0, delay.percentile(99) / 1e6 - 1);
  const longest = Math.max(0, delay.max / 1e6 - 1);
  delay.enable();
  delay.reset();
  process.send?.({ p99, longest });
});
process.channel?.unref();
process.stdout.write(`ready ${url}\n`);

async function listen(): Promise<{ url: string }> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}
