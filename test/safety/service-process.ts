// A service under remote control, as a process of its own: its configuration is its argument, and its first line of output
// says where it listens. What OpenTelemetry and this package have to say of what happens goes to its output.
import { DiagConsoleLogger, DiagLogLevel, diag, logs } from '@opentelemetry/api';
import { LoggerProvider, type ReadWriteLogRecord } from '@opentelemetry/sdk-logs';
import { createRdcp, type RdcpConfig } from '../../src/index.ts';
import { CATEGORIES } from '../support/server.ts';

interface Instructions {
  readonly config: RdcpConfig;
  readonly logsRecords: boolean;
}

const { config, logsRecords } = JSON.parse(process.argv[2] as string) as Instructions;

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
for (const name of CATEGORIES) rdcp.category(name, { description: `${name} in the test` });
const { url } = await rdcp.listen();
// What the service is there for: it lives until it is told to end.
const work = setInterval(() => undefined, 1000);
process.once('SIGTERM', () => {
  clearInterval(work);
  void rdcp.close();
});
process.channel?.unref();
process.stdout.write(`ready ${url}\n`);
