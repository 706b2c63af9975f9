import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { hashApiKey } from '../../src/access/api-key.ts';
import { installInto, packInto } from '../package/consumer.ts';
import { newFolder } from '../support/folder.ts';

const KEY = 'otel-lines-under-test-0123456789abcdef';

/** OpenTelemetry's SDKs for logs and traces: the oldest release and the last one of the 2.x line, and the 3.x line. */
const RELEASES = [
  {
    packages: {
      '@opentelemetry/api': '1.9.1',
      '@opentelemetry/instrumentation': '0.200.0',
      '@opentelemetry/sdk-logs': '0.200.0',
      '@opentelemetry/sdk-trace-base': '2.0.0',
    },
    configures: false,
  },
  {
    packages: {
      '@opentelemetry/api': '1.9.1',
      '@opentelemetry/instrumentation': '0.223.0',
      '@opentelemetry/sdk-logs': '0.223.1',
      '@opentelemetry/sdk-trace-base': '2',
    },
    configures: true,
  },
  { packages: { '@opentelemetry/sdk-logs': '3.1.0', '@opentelemetry/sdk-trace': '3' }, configures: true },
];

/** Emits records and makes spans before, while and after their categories are on. Writes what was exported. */
const APP = `
import { createRequire } from 'node:module';
import { ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { createRdcp, gateLogs, gateSampler, loggerConfigurator } from 'opentelemetry-instrumentation-rdcp';
import { category } from 'opentelemetry-instrumentation-rdcp/api';
import { createRdcpClient } from 'opentelemetry-instrumentation-rdcp/client';
const require = createRequire(import.meta.url);
const logs = require('@opentelemetry/sdk-logs');
const { TRACES, CONFIGURES, KEY_HASH: hash } = process.env;
const traces = require(TRACES);
const configures = CONFIGURES === 'true';
const TracerProvider = traces.TracerProvider ?? traces.BasicTracerProvider;

function make(wrap, options) {
  const exporter = new logs.InMemoryLogRecordExporter();
  // The oldest takes its processors one by one, and an exporter as it is.
  const old = logs.LoggerProvider.prototype.addLogRecordProcessor !== undefined;
  const processor = wrap(new logs.SimpleLogRecordProcessor(old ? exporter : { exporter }));
  const provider = new logs.LoggerProvider({ ...(!old && { processors: [processor] }), ...options });
  if (old) provider.addLogRecordProcessor(processor);
  return { provider, exporter };
}
const gated = make(gateLogs, {});
const configured = make((processor) => processor, { loggerConfigurator: loggerConfigurator() });
// Fails where an SDK copies the configuration of a scope, instead of reading its fields for each record.
const traced = make((processor) => processor, { loggerConfigurator: loggerConfigurator(() => ({ traceBased: true })) });
const all = configures ? [gated, configured, traced] : [gated];
const unsampled = trace.setSpanContext(ROOT_CONTEXT, { traceId: '1'.repeat(32), spanId: '1'.repeat(16), traceFlags: 0 });
const spans = new traces.InMemorySpanExporter();
const tracerProvider = new TracerProvider({
  sampler: gateSampler(new traces.AlwaysOffSampler()),
  spanProcessors: [new traces.SimpleSpanProcessor(traces.TracerProvider === undefined ? spans : { exporter: spans })],
});
trace.setGlobalTracerProvider(tracerProvider);

const rdcp = createRdcp({
  server: { port: 0 },
  announce: false,
  adopt: { otel: true },
  security: { apiKeys: [{ id: 'ops', hash, clientId: 'ops', scopes: ['admin'] }] },
});
const { url } = await rdcp.listen();
const operator = createRdcpClient({ baseUrl: url, apiKey: ${JSON.stringify(KEY)} });
const payments = category('PAYMENTS');
const loggers = all.map(({ provider }) => provider.getLogger('orders'));
const SEVERITIES = [1, 5, 9, 17];

async function turn() {
  for (const logger of loggers) for (const severityNumber of SEVERITIES) logger.emit({ severityNumber, body: 'b', context: unsampled });
  payments.span('pay', () => undefined);
  tracerProvider.getTracer('other').startSpan('not ours').end();
  await Promise.all([tracerProvider, ...all.map(({ provider }) => provider)].map((each) => each.forceFlush()));
  const records = all.map(({ exporter }) => exporter.getFinishedLogRecords().map((record) => record.severityNumber));
  const named = spans.getFinishedSpans().map(({ name }) => name);
  for (const { exporter } of all) exporter.reset();
  spans.reset();
  const enabled = loggers.map((logger) => logger.enabled?.({ severityNumber: 5 }));
  return { records, spans: named, enabled };
}

const turns = [await turn()];
await operator.enable(['OTEL_ORDERS', 'PAYMENTS']);
turns.push(await turn());
await operator.disable(['OTEL_ORDERS', 'PAYMENTS']);
turns.push(await turn());
const { categories } = await operator.discovery();
const { metrics } = categories.find(({ name }) => name === 'OTEL_ORDERS');
await rdcp.close();
turns.push(await turn());
console.log(JSON.stringify({ turns, calls: metrics.callsTotal }));
`;

for (const release of RELEASES) {
  const version = release.packages['@opentelemetry/sdk-logs'];
  test(`logs and spans are gated in OpenTelemetry's SDK for logs ${version}`, (t) => isGated(t, release));
}

async function isGated(t: TestContext, { packages, configures }: (typeof RELEASES)[number]): Promise<void> {
  const directory = newFolder(t);
  const consumer = await installInto(join(directory, 'service'), await packInto(directory), packages);
  const [traces = ''] = Object.keys(packages).filter((name) => name.includes('sdk-trace'));
  const env = { TRACES: traces, CONFIGURES: String(configures), KEY_HASH: hashApiKey(KEY) };
  const { stdout, stderr } = await consumer.node(APP, { env });
  assert.equal(stderr, '');
  const { turns, calls } = JSON.parse(stdout);
  const each = <T>(value: T, traced = value) => (configures ? [value, value, traced] : [value]);
  // Loggers of 0.200 cannot be asked.
  const enabled = (value: boolean) => (configures ? each(value) : [null]);
  const off = { records: each([9, 17], []), spans: [], enabled: enabled(false) };
  const on = { records: each([1, 5, 9, 17]), spans: ['pay'], enabled: enabled(true) };
  assert.deepEqual(turns, [off, on, off, { ...on, records: each([1, 5, 9, 17], []), spans: [] }]);
  assert.equal(calls, 2);
}
