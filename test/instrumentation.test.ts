// In a process of its own: it installs global providers of OpenTelemetry.

import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { context, diag, logs, metrics, trace } from '@opentelemetry/api';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { InMemoryLogRecordExporter, LoggerProvider, SimpleLogRecordProcessor } from '@opentelemetry/sdk-logs';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace';
import { category } from '../src/api.ts';
import { RdcpInstrumentation, type RdcpInstrumentationConfig } from '../src/assembly/instrumentation.ts';
import { PATHS } from '../src/wire/constants.ts';
import { makeKey } from './auth/records.ts';
import { createPrometheus, samples } from './metrics/scrape.ts';

const { key: KEY, record } = makeKey({ scopes: ['admin'] });
const CONFIG: RdcpInstrumentationConfig = { server: { port: 0 }, security: { apiKeys: [record] } };

const POINT = category('INSTRUMENTED');
const made: RdcpInstrumentation[] = [];

function instrument(config: RdcpInstrumentationConfig = {}): RdcpInstrumentation {
  const instrumentation = new RdcpInstrumentation({ ...CONFIG, ...config });
  made.push(instrumentation);
  return instrumentation;
}

async function call(url: string, path: string, body?: unknown) {
  const response = await fetch(url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'X-RDCP-API-Key': KEY, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.json() };
}

async function enable(url: string): Promise<void> {
  const { status } = await call(url, '/rdcp/v1/control', { action: 'enable', categories: 'INSTRUMENTED' });
  assert.equal(status, 200);
}

const status = async (url: string) => (await call(url, '/rdcp/v1/status')).body;

function collectLogs() {
  const exporter = new InMemoryLogRecordExporter();
  const processor = new SimpleLogRecordProcessor({ exporter });
  const bodies = () =>
    exporter
      .getFinishedLogRecords()
      .filter(({ severityText }) => severityText === 'DEBUG')
      .map(({ body }) => body);
  return { processor, bodies };
}

/** OpenTelemetry registers its providers once per process. */
function unregister(): void {
  for (const api of [trace, metrics, logs, context, diag]) api.disable();
}

describe('RdcpInstrumentation', () => {
  beforeEach(unregister);
  afterEach(async () => {
    await Promise.all(made.splice(0).map((instrumentation) => instrumentation.close()));
    unregister();
  });

  it('makes no spans of its own', async () => {
    const spans = new InMemorySpanExporter();
    const instrumentation = instrument();
    const sdk = new NodeSDK({
      instrumentations: [instrumentation],
      spanProcessors: [new SimpleSpanProcessor({ exporter: spans })],
      metricReaders: [],
      logRecordProcessors: [],
      autoDetectResources: false,
    });
    sdk.start();
    await status((await instrumentation.listen()).url);
    assert.deepEqual(spans.getFinishedSpans(), []);
    await sdk.shutdown();
  });

  it('goes on answering after the SDK was shut down', async () => {
    const instrumentation = instrument();
    const sdk = new NodeSDK({ instrumentations: [instrumentation], metricReaders: [], autoDetectResources: false });
    sdk.start();
    const { url } = await instrumentation.listen();
    await sdk.shutdown();
    assert.equal((await status(url)).enabled, true);
  });

  it('switches everything off while disabled, says so, and comes back as it was set', async () => {
    const instrumentation = instrument();
    const { url } = await instrumentation.listen();
    await enable(url);
    assert.equal(POINT.enabled, true);
    instrumentation.disable();
    assert.equal(POINT.enabled, false);
    const { enabled, categories } = await status(url);
    assert.equal(enabled, false);
    assert.equal(categories.INSTRUMENTED, false);
    instrumentation.enable();
    assert.equal(POINT.enabled, true);
    assert.equal((await status(url)).enabled, true);
    assert.equal((await instrumentation.listen()).url, url);
  });

  it('is enabled by registerInstrumentations when it was made disabled, and disabled by its undoing', async () => {
    const instrumentation = instrument({ enabled: false, categories: { INSTRUMENTED: { enabled: true } } });
    assert.equal(instrumentation.isEnabled(), false);
    assert.equal(POINT.enabled, false);
    const undo = registerInstrumentations({ instrumentations: [instrumentation] });
    assert.equal(POINT.enabled, true);
    assert.equal((await status((await instrumentation.listen()).url)).enabled, true);
    undo();
    assert.equal(POINT.enabled, false);
  });

  it('changes by setConfig what can change while it runs, refuses the rest with a warning, and getConfig is the truth', async () => {
    const warnings: string[] = [];
    const logger = { info() {}, warn: (line: string) => void warnings.push(line), error() {} };
    const instrumentation = instrument({ logger, categories: { INSTRUMENTED: { enabled: true } } });
    const { url } = await instrumentation.listen();
    const config = instrumentation.getConfig();
    assert.equal(config.enabled, true);

    instrumentation.setConfig({ ...config, enabled: false });
    assert.equal(instrumentation.isEnabled(), false);
    assert.equal(instrumentation.getConfig().enabled, false);
    assert.equal((await status(url)).enabled, false);
    instrumentation.setConfig({});
    assert.equal(POINT.enabled, true);
    instrumentation.disable();
    assert.equal(instrumentation.getConfig().enabled, false);
    instrumentation.enable();
    assert.deepEqual(instrumentation.getConfig(), config);
    assert.deepEqual(warnings, []);

    instrumentation.setConfig({ ...config, enabled: false, tail: false, controls: { maxDuration: '1h' } });
    assert.deepEqual(warnings, [
      'rdcp: setConfig() ignored options: while the endpoint runs, only enabled can change, not tail, controls: call close() first',
    ]);
    assert.deepEqual(instrumentation.getConfig(), { ...config, enabled: false });

    await instrumentation.close();
    instrumentation.setConfig({ ...CONFIG, logger, tail: false });
    assert.equal(instrumentation.getConfig().tail, false);
    assert.equal(instrumentation.getConfig().categories, undefined);
    const reopened = await instrumentation.listen();
    assert.equal((await call(reopened.url, PATHS.wellKnown)).body.otelrdcp_endpoints.tail, undefined);
    assert.equal(warnings.length, 1);
  });

  it('keeps its options when setConfig is given wrong ones', () => {
    const warnings: string[] = [];
    const logger = { info() {}, warn: (line: string) => void warnings.push(line), error() {} };
    const instrumentation = instrument({ enabled: false, logger });
    const before = instrumentation.getConfig();
    instrumentation.setConfig({ enabled: false, server: { port: 'http' } } as unknown as RdcpInstrumentationConfig);
    assert.match(warnings.join(), /^rdcp: setConfig\(\) ignored options: configuration: server\.port [^\n]*$/);
    assert.deepEqual(instrumentation.getConfig(), before);
    instrumentation.setConfig({ ...CONFIG, logger, enabled: false, announce: false });
    assert.equal(instrumentation.getConfig().announce, false);
  });

  it('listens nowhere with server: false, and is mounted instead', async () => {
    const instrumentation = instrument({ server: false });
    await assert.rejects(instrumentation.listen(), /server/);
    assert.equal(typeof instrumentation.rdcp.callback(), 'function');
  });

  it('takes providers at any time, those set on it before those registered', async () => {
    const instrumentation = instrument();
    const { url } = await instrumentation.listen();
    await enable(url);
    const registered = createPrometheus();
    metrics.setGlobalMeterProvider(registered.provider);
    const own = createPrometheus();
    instrumentation.setMeterProvider(own.provider);
    const { processor, bodies } = collectLogs();
    instrumentation.setLoggerProvider(new LoggerProvider({ processors: [processor] }));
    POINT.debug('to the one that was set');
    assert.deepEqual(bodies(), ['to the one that was set']);
    assert.match(await own.scrape(), /rdcp_debug_calls_total/);
    assert.doesNotMatch(await registered.scrape(), /rdcp_debug_calls_total/);
  });

  it('finds providers that are registered after it', async () => {
    const instrumentation = instrument();
    const { url } = await instrumentation.listen();
    const prometheus = createPrometheus();
    const { processor, bodies } = collectLogs();
    metrics.setGlobalMeterProvider(prometheus.provider);
    logs.setGlobalLoggerProvider(new LoggerProvider({ processors: [processor] }));
    await enable(url);
    POINT.debug('found');
    assert.deepEqual(bodies(), ['found']);
    assert.equal(samples(await prometheus.scrape(), 'rdcp_category_enabled', 'rdcp_category_name').INSTRUMENTED, 1);
  });

  it('closes its endpoint, and opens a new one when it is enabled again', async () => {
    const instrumentation = instrument();
    const { url } = await instrumentation.listen();
    await enable(url);
    await instrumentation.close();
    assert.equal(POINT.enabled, false);
    await assert.rejects(fetch(`${url}/rdcp/v1/health`));
    instrumentation.enable();
    assert.equal((await status((await instrumentation.listen()).url)).enabled, true);
  });
});
