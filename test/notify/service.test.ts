// In a process of its own: it installs global providers of OpenTelemetry.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import diagnosticsChannel from 'node:diagnostics_channel';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { Webhook } from 'standardwebhooks';
import { category } from '../../src/api.ts';
import type { RdcpConfig } from '../../src/index.ts';
import { makeKey } from '../auth/records.ts';
import { createMeasuredTelemetry, samples } from '../metrics/scrape.ts';
import { built } from '../support/built.ts';
import { newStore } from '../support/folder.ts';
import { assertClean, marked, secret } from '../support/secrets.ts';
import { startService } from '../support/service.ts';
import { inFull } from '../support/tiers.ts';
import { until } from '../support/until.ts';
import { openReceiver, type Received } from './receiver.ts';

const SECRET = secret(
  'webhook secret',
  `whsec_${Buffer.from(marked('webhook key')).subarray(0, 48).toString('base64')}`,
);
const admin = makeKey({ scopes: ['admin'], userId: 'alice' });
const reader = makeKey({ id: 'k2', clientId: 'reader' });

context.setGlobalContextManager(new AsyncLocalStorageContextManager());
trace.setGlobalTracerProvider(
  new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter: new InMemorySpanExporter() })] }),
);

process.env.OTEL_SERVICE_NAME = 'shop';

category('ORDERS');

interface Notification {
  readonly type: string;
  readonly timestamp: string;
  readonly source: { readonly service: string; readonly pid: number };
  readonly data: {
    readonly id: string;
    readonly action: string;
    readonly categories: readonly string[];
    readonly [field: string]: unknown;
  };
}

/** Checks the signature with the library that receivers use. */
function verified({ body, headers }: Received, key: string = SECRET): Notification {
  return new Webhook(key as `whsec_${string}`).verify(body, headers as Record<string, string>) as Notification;
}

async function service(t: TestContext, webhook: object | readonly object[], config: RdcpConfig = {}) {
  const { telemetry, scrape } = createMeasuredTelemetry();
  const options: RdcpConfig = {
    security: { apiKeys: [admin.record, reader.record] },
    notify: { webhook: webhook as NonNullable<RdcpConfig['notify']>['webhook'] },
    ...config,
  };
  const { url, lines } = await startService(t, options, { telemetry });
  const control = (body: object, key = admin.key) =>
    fetch(`${url}/rdcp/v1/control`, {
      method: 'POST',
      headers: { 'X-RDCP-API-Key': key, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
  const get = async (path: string) =>
    (await fetch(`${url}/rdcp/v1/${path}`, { headers: { 'X-RDCP-API-Key': admin.key } })).json() as Promise<
      Record<string, unknown>
    >;
  return { control, get, lines, scrape, url };
}

test('in a fleet a change, its end, a spent budget and a refusal arrive once, signed, as the audit trail has them', async (t) => {
  const receiver = await openReceiver(t);
  const webhook = { url: `${receiver.url}/hook`, secret: SECRET };
  const config = { store: newStore(t) };
  const { control, get } = await service(t, webhook, config);
  // Another process sees the same ends, and sends none of them again.
  await service(t, webhook, config);
  const orders = category('ORDERS');
  await control({ action: 'enable', categories: ['ORDERS'], options: { duration: '1s', reason: 'slow checkout' } });
  await receiver.arrived(2);
  await control({ action: 'enable', categories: ['ORDERS'], options: { otelrdcp_budget: { calls: 1 } } });
  orders.debug('one');
  orders.debug('two');
  await receiver.arrived(4);
  await control({ action: 'enable', categories: ['ORDERS'] }, reader.key);
  await receiver.arrived(5);
  await control({ action: 'status', categories: ['ORDERS'] });
  const sent = receiver.received.map((request) => verified(request));
  assert.deepEqual(
    sent.map(({ type, data }) => [type, data.action, data.categories]),
    [
      ['rdcp.change', 'enable', ['ORDERS']],
      ['rdcp.expiry', 'expire', ['ORDERS']],
      ['rdcp.change', 'enable', ['ORDERS']],
      ['rdcp.budget', 'expire', ['ORDERS']],
      ['rdcp.refusal', 'authorize', []],
    ],
  );
  const { entries } = (await get('audit')) as { entries: Notification['data'][] };
  for (const [index, { data, timestamp, source }] of sent.entries()) {
    assert.deepEqual(
      data,
      entries.find(({ id }) => id === data.id),
    );
    assert.equal(receiver.received[index]?.headers['webhook-id'], data.id);
    assert.equal(timestamp, data.timestamp);
    assert.deepEqual([source.service, source.pid], ['shop', process.pid]);
  }
});

test('a request of ours is no part of a trace, and makes no span', async (t) => {
  const receiver = await openReceiver(t);
  const { control } = await service(t, { url: receiver.url, secret: SECRET });
  const recording: boolean[] = [];
  const started = () => {
    const span = trace.getTracer('test').startSpan('POST');
    recording.push(span.isRecording());
    span.end();
  };
  diagnosticsChannel.subscribe('http.client.request.start', started);
  t.after(() => diagnosticsChannel.unsubscribe('http.client.request.start', started));
  await trace.getTracer('test').startActiveSpan('of the application', async (span) => {
    assert.ok(span.isRecording());
    await control({ action: 'enable', categories: ['ORDERS'] });
    span.end();
  });
  await receiver.arrived(1);
  assert.deepEqual(recording, [false]);
  assert.equal(receiver.received[0]?.headers.traceparent, undefined);
  assert.match(receiver.received[0]?.headers['user-agent'] ?? '', /^opentelemetry-instrumentation-rdcp\/\d/);
});

test('each receiver gets the events that it asks for, in its format', async (t) => {
  const chat = await openReceiver(t);
  const machine = await openReceiver(t);
  const newer = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
  const { control, scrape } = await service(t, [
    { url: chat.url, format: 'slack', events: ['change'] },
    { url: machine.url, secret: [newer, SECRET], events: ['refusal'] },
  ]);
  await control({ action: 'enable', categories: ['ORDERS'] }, reader.key);
  const options = { duration: '5m', reason: 'see <!channel> & <http://example|this>' };
  await control({ action: 'enable', categories: ['ORDERS'], options });
  const [line] = await chat.arrived(1);
  const [refusal] = await machine.arrived(1);
  assert.match(
    JSON.parse(line?.body ?? '').text,
    /^shop on \S+: ORDERS on for 5m by alice: see &lt;!channel&gt; &amp; &lt;http:\/\/example\|this&gt;$/,
  );
  assert.equal(line?.headers['webhook-signature'], undefined);
  assert.ok(refusal);
  for (const key of [newer, SECRET]) assert.equal(verified(refusal, key).type, 'rdcp.refusal');
  assert.equal(chat.received.length + machine.received.length, 2);
  const counted = async () => samples(await scrape(), 'rdcp_notifications_total', 'rdcp_outcome').success;
  await until('both are counted', async () => ((await counted()) === 2 ? true : undefined));
});

test('a receiver that hangs holds up no control, and one that fails degrades health without showing a secret', async (t) => {
  const path = marked('path of the webhook');
  const hanging = await openReceiver(t, () => {});
  const failing = await openReceiver(t, (response) => void response.writeHead(500).end(SECRET));
  const { control, get, lines } = await service(t, [
    { url: `${hanging.url}/${path}`, secret: SECRET },
    { url: `${failing.url}/${path}?key=${path}`, secret: SECRET },
  ]);
  for (const action of ['enable', 'disable', 'enable']) {
    assert.equal((await control({ action, categories: ['ORDERS'] })).status, 200);
  }
  await failing.arrived(2);
  const health = await until('the service is degraded', async () => {
    const body = (await get('health')) as { status: string; checks: { name: string; otelrdcp_reason?: string }[] };
    return body.status !== 'healthy' && body;
  });
  const host = new URL(failing.url).host;
  assert.equal(health.status, 'degraded');
  assert.equal(
    health.checks.find(({ name }) => name === 'notify')?.otelrdcp_reason,
    `notifications to ${host} fail: it answers with status 500`,
  );
  assert.ok(
    lines.includes(
      `rdcp: notifications to ${host} fail: it answers with status 500; notifications wait in memory or are dropped, and counted in rdcp.notifications`,
    ),
  );
  assertClean('health', JSON.stringify(health));
  assertClean('the log', lines.join('\n'));
  assert.equal(hanging.received.length, 1);
});

test('an answer is not read beyond a bound, and a redirect is not followed', async (t) => {
  const elsewhere = await openReceiver(t);
  let ended = false;
  const receiver = await openReceiver(t, (response) => {
    response.writeHead(302, { Location: elsewhere.url });
    response.on('close', () => {
      ended = !response.writableEnded;
    });
    const fill = () => {
      while (!response.destroyed && response.write(Buffer.alloc(16 * 1024)));
    };
    response.on('drain', fill);
    fill();
  });
  const { control } = await service(t, { url: receiver.url, secret: SECRET });
  await control({ action: 'enable', categories: ['ORDERS'] });
  await receiver.arrived(2);
  assert.equal(ended, true, 'the connection was closed while the answer was still being sent');
  assert.equal(elsewhere.received.length, 0);
});

inFull('what waits is sent at the close, and nothing else keeps the process alive', async (t) => {
  const receiver = await openReceiver(t);
  const hanging = await openReceiver(t, () => {});
  const program = (url: string, end: string) => `
    import { createRdcp } from '${built('index.js')}';
    const rdcp = createRdcp({
      server: { port: 0 }, announce: false, categories: { ORDERS: {} },
      security: { apiKeys: [${JSON.stringify(admin.record)}] },
      notify: { webhook: { url: '${url}', secret: '${SECRET}' } },
    });
    const { url } = await rdcp.listen();
    const headers = { 'X-RDCP-API-Key': '${admin.key}', 'Content-Type': 'application/json' };
    const body = JSON.stringify({ action: 'enable', categories: ['ORDERS'] });
    await fetch(url + '/rdcp/v1/control', { method: 'POST', headers, body });
    ${end}`;
  const run = (code: string) => promisify(execFile)(process.execPath, ['--input-type=module', '-e', code]);
  // An attempt takes ten seconds.
  const later = `
    await new Promise((resolve) => setTimeout(resolve, 200));
    const done = performance.now();
    process.on('exit', () => console.log(performance.now() - done < 5000 ? 'soon' : 'late'));`;
  const [closed, left] = await Promise.all([
    run(program(receiver.url, 'await rdcp.close();')),
    run(program(hanging.url, later)),
  ]);
  assert.equal(closed.stderr, '');
  assert.deepEqual(
    receiver.received.map((request) => verified(request).type),
    ['rdcp.change'],
  );
  assert.equal(left.stdout, 'soon\n');
  assert.equal(hanging.received.length, 1, 'it was still being sent');
});

test('one 503 that asks for an hour degrades health at once, and `rdcp notifications` shows it', async (t) => {
  const receiver = await openReceiver(t, (response) => void response.writeHead(503, { 'Retry-After': '3600' }).end());
  const { control, get, url } = await service(t, { url: `${receiver.url}/hook`, secret: SECRET });
  await control({ action: 'enable', categories: ['ORDERS'], options: { duration: '1m' } });
  await receiver.arrived(1);
  await until('the failure', async () => (await get('health')).status === 'degraded');
  const asked = 'it answers with status 503 and asks to wait 300 s';
  assert.match(JSON.stringify((await get('health')).checks), new RegExp(`fail: ${asked}`));
  const { stdout } = await promisify(execFile)(process.execPath, [built('cli/main.js'), 'notifications'], {
    env: { ...process.env, RDCP_URL: url, RDCP_API_KEY: admin.key },
  });
  assert.match(
    stdout,
    new RegExp(`^${new URL(receiver.url).host}: failing, 1 waiting, ${asked}, next attempt at \\d\\d:`),
  );
  assert.match(stdout, /\n20\S+ +change +failed +1 +it answers with status 503$/m);
  assert.doesNotMatch(stdout, /hook/);
  await control({ action: 'disable', categories: ['ORDERS'] });
});
