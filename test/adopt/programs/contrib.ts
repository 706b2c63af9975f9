// A service whose pino or winston OpenTelemetry's instrumentation and we have both patched, in the order of its argument.
// Tells its parent the lines and OpenTelemetry records of each state of its category.
import { createRequire } from 'node:module';
import { Writable } from 'node:stream';
import { logs } from '@opentelemetry/api';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { PinoInstrumentation } from '@opentelemetry/instrumentation-pino';
import { WinstonInstrumentation } from '@opentelemetry/instrumentation-winston';
import { InMemoryLogRecordExporter, LoggerProvider, SimpleLogRecordProcessor } from '@opentelemetry/sdk-logs';
import { createRdcp } from 'opentelemetry-instrumentation-rdcp';
import { createRdcpClient } from 'opentelemetry-instrumentation-rdcp/client';
import { hashApiKey } from '../../../src/access/api-key.ts';

const [library, order] = process.argv.slice(2);
const KEY = 'adopted-loggers-under-test-0123456789';
const exporter = new InMemoryLogRecordExporter();
const provider = new LoggerProvider({ processors: [new SimpleLogRecordProcessor({ exporter })] });
logs.setGlobalLoggerProvider(provider);
// The transport for winston is still of the 2.x line, whose Logs API is a package of its own.
const require = createRequire(import.meta.url);
const older = createRequire(require.resolve('@opentelemetry/winston-transport'))('@opentelemetry/api-logs');
older.logs.setGlobalLoggerProvider(provider);

const security = { apiKeys: [{ id: 'ops', hash: hashApiKey(KEY), clientId: 'ops', scopes: ['admin' as const] }] };
const startOtel = () =>
  registerInstrumentations({ instrumentations: [new PinoInstrumentation(), new WinstonInstrumentation()] });
const startOurs = () => createRdcp({ server: { port: 0 }, security, adopt: { pino: true, winston: true } });

if (order === 'after') startOtel();
const rdcp = startOurs();
if (order === 'before') startOtel();

const lines: string[] = [];
const stream = new Writable({
  write(chunk, _encoding, done) {
    const { msg, message } = JSON.parse(String(chunk));
    lines.push(msg ?? message);
    done();
  },
});

interface Logger {
  debug(message: string): unknown;
  info(message: string): unknown;
}

function makeLogger(): Logger {
  if (library === 'pino') return require('pino')({}, stream);
  const winston = require('winston');
  return winston.createLogger({ transports: [new winston.transports.Stream({ stream })] });
}

const { url } = await rdcp.listen();
const operator = createRdcpClient({ baseUrl: url, apiKey: KEY });
const logger = makeLogger();

async function speak() {
  logger.debug('d');
  logger.info('i');
  await new Promise((resolve) => setTimeout(resolve, 20));
  const records = exporter.getFinishedLogRecords().flatMap(({ body, instrumentationScope, severityText }) => {
    const ours = instrumentationScope.name.startsWith('opentelemetry-instrumentation-rdcp');
    return ours ? [] : [`${severityText} ${body}`];
  });
  exporter.reset();
  return { lines: lines.splice(0), records };
}

const off = await speak();
await operator.enable('APP');
const on = await speak();
await operator.disable('APP');
const offAgain = await speak();
const { categories } = await operator.discovery();
await rdcp.close();
const closed = await speak();
(process.send ?? console.log).call(process, {
  off,
  on,
  offAgain,
  closed,
  calls: categories.find(({ name }) => name === 'APP')?.metrics?.callsTotal,
});
process.disconnect?.();
