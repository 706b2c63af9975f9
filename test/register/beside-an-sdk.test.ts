import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { samples } from '../metrics/scrape.ts';
import { freePort } from '../support/free-port.ts';
import { inFull } from '../support/tiers.ts';
import { until } from '../support/until.ts';
import { openReceiver } from './otlp-receiver.ts';
import { API, announced, enable, KEY, REGISTER, start } from './running.ts';

const AUTO_INSTRUMENTATIONS = '@opentelemetry/auto-instrumentations-node/register';

/** Starts an SDK as auto-instrumentations-node's register does, without its instrumentations. */
const STARTS_SDK = `
  import { NodeSDK } from '${import.meta.resolve('@opentelemetry/sdk-node')}';
  const sdk = new NodeSDK();
  sdk.start();
  const shutdown = () => sdk.shutdown();
  process.on('SIGTERM', shutdown);
  process.once('beforeExit', shutdown);`;

const FILES = {
  'sdk.mjs': STARTS_SDK,
  'node_modules/@opentelemetry/auto-instrumentations-node/package.json': JSON.stringify({
    exports: { './register': './register.mjs' },
  }),
  'node_modules/@opentelemetry/auto-instrumentations-node/register.mjs': STARTS_SDK,
};

const APP = `
  import { trace } from '${API}';
  const payments = category('PAYMENTS');
  const timer = setInterval(() => trace.getTracer('app').startActiveSpan('request', (span) => {
    payments.debug('charging');
    span.end();
  }), 20);
  process.stdin.resume();
  process.stdin.once('end', () => clearInterval(timer));`;

const ORDERS = {
  'an SDK that a module of the application started': ['--import', './sdk.mjs', '--import', REGISTER],
  'auto-instrumentations-node before it': ['--import', AUTO_INSTRUMENTATIONS, '--import', REGISTER],
  'auto-instrumentations-node after it': ['--import', REGISTER, '--import', AUTO_INSTRUMENTATIONS],
  'auto-instrumentations-node before it, by --require': ['--require', AUTO_INSTRUMENTATIONS, '--import', REGISTER],
};

describe('register beside an SDK attaches to it and starts none', { concurrency: 2 }, () => {
  for (const [order, options] of Object.entries(ORDERS)) {
    inFull(`beside ${order}`, async (t) => {
      const receiver = await openReceiver(t);
      const sdkMetrics = await freePort();
      const env = {
        ...receiver.env,
        RDCP_SERVER_API_KEY: KEY,
        OTEL_METRICS_EXPORTER: 'prometheus',
        OTEL_EXPORTER_PROMETHEUS_PORT: String(sdkMetrics),
      };
      const run = await start(t, { env, options, files: FILES, app: APP });
      const { url } = await announced(run);
      assert.match(run.output.stderr, /, attached to the OpenTelemetry SDK [^\n]*\n/);
      assert.doesNotMatch(run.output.stderr, /metrics on/);
      assert.equal(/put it before/.test(run.output.stderr), /after it/.test(order), run.output.stderr);
      assert.equal(await enable(url), 200);

      const scrape = async () => (await fetch(`http://localhost:${sdkMetrics}/metrics`)).text();
      await until('a call of PAYMENTS in the scrape', async () => {
        const { PAYMENTS } = samples(await scrape(), 'rdcp_debug_calls_total', 'rdcp_category_name');
        return Number(PAYMENTS) > 0 ? true : undefined;
      });
      run.child.stdin.end();
      assert.deepEqual(await run.closed, [0, null], run.output.stderr);
      assert.deepEqual(receiver.audit(), ['enable', 'rdcp.audit.checkpoint']);
      assert.ok(receiver.paths.includes('/v1/traces'));
      assert.doesNotMatch(run.output.stderr, /DEBUG|EADDRINUSE|duplicate/);
    });
  }

  it('but starts its own where only a no-op provider is registered', async (t) => {
    const noop = `
      import { trace } from '${API}';
      trace.setGlobalTracerProvider(trace.getTracerProvider().getDelegate());`;
    const options = ['--import', './noop.mjs', '--import', REGISTER];
    const run = await start(t, { env: { RDCP_SERVER_API_KEY: KEY }, options, files: { 'noop.mjs': noop }, app: APP });
    const { metrics } = await announced(run);
    assert.equal((await fetch(metrics)).status, 200);
  });

  inFull('of which it names the signals, and opens no metrics port for those that are missing', async (t) => {
    const tracing = `
      import { trace } from '${API}';
      const tracer = trace.getTracerProvider().getDelegate().getTracer('x');
      trace.setGlobalTracerProvider({ getTracer: () => tracer, shutdown: async () => {} });`;
    const options = ['--import', './tracing.mjs', '--import', REGISTER];
    const run = await start(t, {
      env: { RDCP_SERVER_API_KEY: KEY },
      options,
      files: { 'tracing.mjs': tracing },
      app: APP,
    });
    await announced(run);
    assert.match(run.output.stderr, /attached to the OpenTelemetry SDK that is already registered \(traces\)/);
    await assert.rejects(fetch(`http://localhost:${run.metricsPort}/metrics`));
  });
});
