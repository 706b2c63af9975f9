import { TYPED_ENTRIES } from './compatibility-scripts.ts';
import { SUBPATHS } from './consumer.ts';

/** An application with an SDK: a category is switched on over HTTP, and its call arrives as record, span and metric. */
export const MAIN_PATH = `
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { ServerResponse } from 'node:http';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { RdcpInstrumentation } from 'opentelemetry-instrumentation-rdcp';
import { category } from 'opentelemetry-instrumentation-rdcp/api';
import { createRdcpClient } from 'opentelemetry-instrumentation-rdcp/client';

const key = 'a-secret-of-thirty-two-characters';
const hash = 'sha256:' + createHash('sha256').update(key).digest('hex');
const scopes = ['discovery', 'status', 'control', 'admin'];
const records = [];
const spans = [];
const lifecycle = { forceFlush: async () => {}, shutdown: async () => {} };
const prometheus = new PrometheusExporter({ preventServerStart: true });
const instrumentation = new RdcpInstrumentation({
  server: { port: 0 },
  security: { apiKeys: [{ id: 'k', hash, clientId: 'test', scopes }] },
});
const sdk = new NodeSDK({
  instrumentations: [instrumentation],
  logRecordProcessors: [{ ...lifecycle, onEmit: (record) => records.push(record) }],
  spanProcessors: [{ ...lifecycle, onStart() {}, onEnd: (span) => spans.push(span) }],
  metricReaders: [prometheus],
});
sdk.start();
const payments = category('PAYMENTS');
const { url } = await instrumentation.listen();
payments.debug('off');
const headers = { 'X-RDCP-API-Key': key, 'Content-Type': 'application/json' };
const body = JSON.stringify({ action: 'enable', categories: ['PAYMENTS'], options: { temporary: true, duration: '5m' } });
const answer = await fetch(url + '/rdcp/v1/control', { method: 'POST', headers, body });
assert.equal(answer.status, 200);
payments.span('charge', () => payments.debug('on', { order: 42, items: [{ sku: 'a', since: new Date(0) }] }));

const debug = records.filter((record) => record.severityText === 'DEBUG');
assert.deepEqual(debug.map((record) => record.body), ['on']);
assert.deepEqual(debug[0].attributes, {
  order: 42,
  items: [{ sku: 'a', since: '1970-01-01T00:00:00.000Z' }],
  'rdcp.category.name': 'PAYMENTS',
  'rdcp.instance.id': debug[0].resource.attributes['service.instance.id'] ?? debug[0].attributes['rdcp.instance.id'],
});
assert.ok(debug[0].attributes['rdcp.instance.id'].length > 0);
assert.equal(debug[0].spanContext.traceId, spans[0].spanContext().traceId);
assert.equal(spans[0].name, 'charge');
assert.ok(records.some((record) => record.eventName === 'rdcp.audit'));

const text = await new Promise((resolve) => {
  const response = new ServerResponse({ method: 'GET' });
  response.end = resolve;
  prometheus.getMetricsRequestHandler({}, response);
});
assert.match(text, /^rdcp_debug_calls_total\\{rdcp_category_name="PAYMENTS".*\\} [12]$/m);
assert.match(text, /^rdcp_category_enabled\\{rdcp_category_name="PAYMENTS".*\\} 1$/m);
assert.match(text, /^rdcp_control_requests_total\\{.*rdcp_outcome="success".*\\} 1$/m);

const client = createRdcpClient({ baseUrl: url, apiKey: key });
assert.equal((await client.status()).categories.PAYMENTS, true);

await instrumentation.close();
await sdk.shutdown();
console.log('arrived');
`;

/** The remote control made by itself, before the SDK: it finds the providers when they are registered. */
export const SDK_AFTERWARDS = `
import assert from 'node:assert/strict';
import { ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { createRdcp } from 'opentelemetry-instrumentation-rdcp';
const rdcp = createRdcp({ server: false, categories: { PAYMENTS: { enabled: true } } });
const payments = rdcp.category('PAYMENTS');

// Required: where the API is published in both module systems, the SDK then registers by the other copy of it.
const require = createRequire(import.meta.url);
const { NodeSDK } = require('@opentelemetry/sdk-node');
const { PrometheusExporter } = require('@opentelemetry/exporter-prometheus');
const records = [];
const spans = [];
const lifecycle = { forceFlush: async () => {}, shutdown: async () => {} };
const prometheus = new PrometheusExporter({ preventServerStart: true });
const sdk = new NodeSDK({
  logRecordProcessors: [{ ...lifecycle, onEmit: (record) => records.push(record.body) }],
  spanProcessors: [{ ...lifecycle, onStart() {}, onEnd: (span) => spans.push(span.name) }],
  metricReaders: [prometheus],
});
sdk.start();
payments.debug('found');
payments.span('charge', () => {});
assert.deepEqual(records, ['found']);
assert.deepEqual(spans, ['charge']);
const text = await new Promise((resolve) => {
  const response = new ServerResponse({ method: 'GET' });
  response.end = resolve;
  prometheus.getMetricsRequestHandler({}, response);
});
assert.match(text, /^rdcp_debug_calls_total\\{rdcp_category_name="PAYMENTS".*\\} 2$/m);
await rdcp.close();
await sdk.shutdown();
console.log('arrived');
`;

/** An application whose logger writes far more debug records in one turn than the SDK's queue holds, and then an error. */
export const FLOOD = `
import * as api from '@opentelemetry/api';
const { logs } = 'logs' in api ? api : await import('@opentelemetry/api-logs');
const logger = logs.getLogger('app');
for (let call = 0; call < 5000; call++) logger.emit({ severityNumber: 5, body: 'debug' });
logger.emit({ severityNumber: 17, body: 'error' });
console.log('flooded');
`;

/** An application that never registers an SDK: it writes its debug lines on stderr. */
export const WITHOUT_SDK = `
import { createRdcp, RdcpInstrumentation } from 'opentelemetry-instrumentation-rdcp';
import { category } from 'opentelemetry-instrumentation-rdcp/api';
const config = { server: { port: 0 }, categories: { PAYMENTS: { enabled: true } } };
const rdcp = createRdcp(config);
await rdcp.listen();
category('PAYMENTS').debug('charging', { order: 42 });
category('PAYMENTS').span('charge', () => category('PAYMENTS').debug('in a span'));
await rdcp.close();
category('PAYMENTS').debug('no control is attached');
const instrumentation = new RdcpInstrumentation(config);
instrumentation.disable();
category('PAYMENTS').debug('disabled');
instrumentation.enable();
category('PAYMENTS').debug('instrumented');
await instrumentation.close();
`;

/** Imports and requires every entry but those of the Redis and the PostgreSQL store. */
export const EVERY_ENTRY = `
import { createRequire } from 'node:module';
import { RdcpError } from 'opentelemetry-instrumentation-rdcp';
import { RdcpError as ClientError, RdcpResponseError } from 'opentelemetry-instrumentation-rdcp/client';
const error = new ClientError('RDCP_TIMEOUT', 'late');
if (!(error instanceof RdcpError) || error instanceof RdcpResponseError) console.log('an error of the client');
const require = createRequire(import.meta.url);
for (const entry of ${JSON.stringify(SUBPATHS)}) {
  const imported = Object.keys(await import(entry));
  const required = Object.keys(require(entry));
  if (!imported.every((name) => required.includes(name))) console.log(entry, imported, required);
}
console.log('all');
`;

/** A service that a bundler puts into one file: a category is switched by the client. */
export const BUNDLED = `
import { createHash } from 'node:crypto';
import { createRdcp } from 'opentelemetry-instrumentation-rdcp';
import { category } from 'opentelemetry-instrumentation-rdcp/api';
import { createRdcpClient } from 'opentelemetry-instrumentation-rdcp/client';

const apiKey = 'a-secret-of-thirty-two-characters';
const hash = 'sha256:' + createHash('sha256').update(apiKey).digest('hex');
const apiKeys = [{ id: 'k', hash, clientId: 'test', scopes: ['control'] }];
const payments = category('PAYMENTS');
const rows = new Set();
const alerts = [{ name: 'rows', match: { alertname: 'A' }, enable: ['PAYMENTS'], for: '5m', filter: { where: 'rows > 1' } }];
const emit = { to: ({ category, attributes }) => category === 'PAYMENTS' && rows.add(attributes.rows) };
const rdcp = createRdcp({ server: { port: 0 }, security: { apiKeys }, emit, alerts });
void rdcp.listen().then(async ({ url }) => {
  const filter = { where: 'rows > 1' };
  await createRdcpClient({ baseUrl: url, apiKey }).enable('PAYMENTS', { duration: '5m', otelrdcp_filter: filter });
  while (rows.size === 0) {
    for (const each of [1, 2]) payments.debug('charging', { rows: each });
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  console.log('rows', ...rows);
  await rdcp.close();
});
`;

/** Prints every module that an entry loads. */
export const loadedBy = (entry: string) => `
import { registerHooks } from 'node:module';
registerHooks({
  load(url, context, next) {
    console.log(url);
    return next(url, context);
  },
});
await import('${entry}');
`;

/** Every entry beside an SDK, to be compiled against the published declarations; test/types/public.ts has what the types promise. */
export const TYPED_CONSUMER = `${TYPED_ENTRIES}
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { NodeSDK } from '@opentelemetry/sdk-node';
new NodeSDK({ instrumentations: [instrumentation] }).start();
registerInstrumentations({ instrumentations: [instrumentation] })();
`;
