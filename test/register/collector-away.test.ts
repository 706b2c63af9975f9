import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { startSdk } from '../../src/assembly/register/sdk.ts';
import { LogExports } from '../../src/calls/emit/log-exports.ts';
import { freePort } from '../support/free-port.ts';
import { until } from '../support/until.ts';
import { announced, DEBUG_IN_A_SPAN, enable, KEY, start, WAIT } from './running.ts';

const FIRST = [1, 2, 3, 4, 5];

/** A collector on a port, which answers with a status and counts the requests. */
async function collectorOn(t: TestContext, port: number, status: number) {
  const seen = { requests: 0 };
  const server = createServer((request, response) => {
    seen.requests += 1;
    request.resume();
    request.once('end', () => response.writeHead(status, { 'Content-Type': 'application/json' }).end('{}'));
  }).listen(port, '127.0.0.1');
  await once(server, 'listening');
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  t.after(close);
  return { seen, close };
}

/** Waits until the service has that health, and returns what it says of the debug lines. */
async function untilHealthIs(url: string, status: string) {
  return until(`health is ${status}`, async () => {
    const response = await fetch(`${url}/rdcp/v1/health`, { headers: { 'X-RDCP-API-Key': KEY } });
    const found = (await response.json()) as {
      status: string;
      checks: { name: string; status: string; otelrdcp_reason?: string }[];
    };
    const { status: emit, otelrdcp_reason: reason } = found.checks.find(({ name }) => name === 'emit') ?? {};
    return found.status === status ? { status, emit, reason } : undefined;
  });
}

test('debug lines go to stderr as well while the collector is away or refuses them, and health says why', async (t) => {
  const port = await freePort();
  const run = await start(t, {
    env: {
      RDCP_SERVER_API_KEY: KEY,
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_TIMEOUT: '300',
      OTEL_BLRP_SCHEDULE_DELAY: '20',
      OTEL_METRICS_EXPORTER: 'none',
      OTEL_TRACES_EXPORTER: 'none',
    },
    app: DEBUG_IN_A_SPAN.replace('{ order: 42 }', '() => ({ n: ++n })').concat('let n = 0;'),
  });
  const { url } = await announced(run);
  assert.match(run.output.stderr, /debug lines to OpenTelemetry$/m);
  const linesOf = (pattern: RegExp) => run.output.stderr.split('\n').filter((line) => pattern.test(line));
  const debugLines = () =>
    linesOf(/ DEBUG PAYMENTS charging .* trace_id=/).map((line) => /charging \{.*?\}/.exec(line)?.[0]);
  const healthIs = (status: string) => untilHealthIs(url, status);

  assert.equal(await enable(url), 200);
  assert.deepEqual(await healthIs('degraded'), {
    status: 'degraded',
    emit: 'warn',
    reason: 'log records cannot be exported (ECONNREFUSED)',
  });
  // Those of an export that had begun by then are written when it fails.
  await until('the lines from before', () => FIRST.every((n) => debugLines().includes(`charging {"n":${n}}`)));
  assert.equal(new Set(debugLines()).size, debugLines().length, 'each once');

  const collector = await collectorOn(t, port, 200);
  assert.deepEqual(await healthIs('healthy'), { status: 'healthy', emit: 'pass', reason: undefined });
  const { length } = debugLines();
  const { requests } = collector.seen;
  await until('further exports', () => collector.seen.requests > requests + 3);
  assert.equal(debugLines().length, length, 'to OpenTelemetry alone again');
  assert.deepEqual(linesOf(/^rdcp: .*export/), [
    'rdcp: log records cannot be exported (ECONNREFUSED); debug lines go to stderr as well, unless emit.to is configured',
    'rdcp: log records can be exported again',
  ]);

  collector.close();
  await collectorOn(t, port, 400);
  const refused = await healthIs('degraded');
  assert.match(refused.reason ?? '', /^log records cannot be exported \((?:status 400|EC\w+)\)$/);
  await until('lines on stderr again', () => debugLines().length > length);
});

test('a misspelt variable of OpenTelemetry is one line, and the exports are watched as with its default', async (t) => {
  const port = await freePort();
  const misspelt = {
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/probuf',
    OTEL_BLRP_MAX_QUEUE_SIZE: '0',
    OTEL_BLRP_SCHEDULE_DELAY: '1s',
    OTEL_TRACES_SAMPLER: 'always',
    OTEL_LOGS_EXPORTER: 'otlp,otpl',
    OTEL_METRICS_EXPORTER: 'promethus',
  };
  const run = await start(t, {
    env: { RDCP_SERVER_API_KEY: KEY, OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`, ...misspelt },
    app: `
      import { execFileSync } from 'node:child_process';
      execFileSync(process.execPath, ['-e', 'console.log(JSON.stringify(process.env))'], { stdio: 'inherit' });
      ${DEBUG_IN_A_SPAN}`,
  });
  const { url, metrics } = await announced(run);
  assert.equal(metrics, '', 'no exporter that is not named');
  const lines = run.output.stderr.split('\n').filter((line) => line.includes('must be'));
  assert.deepEqual(lines.map((line) => line.split(/[ :]+/, 2)[1]).sort(), Object.keys(misspelt).sort());
  assert.equal(await enable(url), 200);
  const { reason } = await untilHealthIs(url, 'degraded');
  assert.equal(reason, 'log records cannot be exported (ECONNREFUSED)');
  await until(
    'a line with its trace',
    () => / DEBUG PAYMENTS charging .* trace_id=/.test(run.output.stderr) || undefined,
  );
  const seen = JSON.parse(run.output.stdout);
  for (const [name, value] of Object.entries(misspelt))
    assert.equal(seen[name], value, 'as it was set, also for a child process');
});

test('a refused variable is hidden only while the SDK starts, also when that throws', (t) => {
  const env = { OTEL_BLRP_MAX_QUEUE_SIZE: '0', OTEL_METRICS_EXPORTER: 'none' };
  let during: string | undefined;
  t.mock.method(NodeSDK.prototype, 'start', () => {
    during = env.OTEL_BLRP_MAX_QUEUE_SIZE;
    throw new Error('no start');
  });
  const wanted = { logs: true, gateLogs: false, isTicket: undefined, allowedHosts: [], warn() {} };
  assert.throws(() => startSdk(env, { ...wanted, exports: new LogExports() }), /no start/);
  assert.deepEqual([during, env], ['', { OTEL_BLRP_MAX_QUEUE_SIZE: '0', OTEL_METRICS_EXPORTER: 'none' }]);
});

test('only the exporters of metrics that are named are there', async (t) => {
  const run = await start(t, {
    env: { RDCP_SERVER_API_KEY: KEY, OTEL_METRICS_EXPORTER: 'otlp' },
    app: WAIT,
  });
  const { url, metrics } = await announced(run);
  assert.deepEqual([url === '', metrics], [false, '']);
  await assert.rejects(fetch(`http://localhost:${run.metricsPort}/metrics`));
});
