import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { openReceiver } from './register/otlp-receiver.ts';
import { announced, DEBUG_IN_A_SPAN, enable, KEY, start, takenPort, until, WAIT } from './register/running.ts';

describe('node --import …/register', { concurrency: 2 }, () => {
  it('shows its metrics to no page that points a name of its own at them', async (t) => {
    const run = await start(t, {
      env: { RDCP_SERVER_API_KEY: KEY, RDCP_CONFIG: 'rdcp.json' },
      files: { 'rdcp.json': JSON.stringify({ server: { allowedHosts: ['shop.internal'] } }) },
      app: WAIT,
    });
    const { metrics } = await announced(run);
    const statusFor = async (host: string) => {
      const request = get(metrics, { headers: { Host: host }, agent: false });
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      return [response.statusCode, await text(response)] as const;
    };
    for (const host of [`localhost:${run.metricsPort}`, '127.0.0.1', '[::1]:1', 'shop.internal:9464']) {
      assert.equal((await statusFor(host))[0], 200, host);
    }
    for (const host of ['rebound.example', 'rebound.example:9464', 'localhost.rebound.example', 'a b']) {
      const [status, body] = await statusFor(host);
      assert.equal(status, 403, host);
      assert.doesNotMatch(body, /rdcp_/);
    }
  });

  it('does nothing at all with OTEL_SDK_DISABLED', async (t) => {
    const env = { OTEL_SDK_DISABLED: 'true', RDCP_PORT: 'not even looked at' };
    const run = await start(t, { env, app: `console.log(category('PAYMENTS', { enabled: true }).enabled);` });
    assert.deepEqual(await run.closed, [0, null]);
    assert.deepEqual(run.output, { stdout: 'false\n', stderr: '' });
  });

  it('reports a metrics port that is taken, and runs on', async (t) => {
    const port = await takenPort(t, 'localhost');
    const env = { RDCP_SERVER_API_KEY: KEY, OTEL_EXPORTER_PROMETHEUS_PORT: String(port) };
    const run = await start(t, { env, app: WAIT });
    await announced(run);
    await until(
      () =>
        /the metrics endpoint did not start: port \d+ is in use: choose another by OTEL_EXPORTER_PROMETHEUS_PORT\n/.test(
          run.output.stderr,
        ),
      run.child,
      run.output,
    );
    assert.doesNotMatch(run.output.stderr, /metrics on/);
  });

  it('exports over OTLP what a collector is named for, and keeps its Prometheus endpoint', async (t) => {
    const receiver = await openReceiver(t);
    const env = {
      ...receiver.env,
      RDCP_SERVER_API_KEY: KEY,
      OTEL_METRIC_EXPORT_INTERVAL: '200',
      OTEL_METRIC_EXPORT_TIMEOUT: '200',
      OTEL_BSP_SCHEDULE_DELAY: '100',
      OTEL_BLRP_SCHEDULE_DELAY: '100',
    };
    const app = `console.log(process.env.OTEL_METRICS_EXPORTER ?? 'unset'); ${DEBUG_IN_A_SPAN}`;
    const run = await start(t, { env, app });
    const { url } = await announced(run);
    await enable(url);
    const all = ['/v1/traces', '/v1/logs', '/v1/metrics'];
    await until(() => all.every((path) => receiver.paths.includes(path)), run.child, run.output);
    assert.equal((await fetch(`http://localhost:${run.metricsPort}/metrics`)).status, 200);
    assert.equal(run.output.stdout, 'unset\n', 'the application sees the variables that were set');
    assert.doesNotMatch(run.output.stderr, /DEBUG/);
  });
});
