import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { built } from '../support/built.ts';
import { openReceiver } from './otlp-receiver.ts';
import { announced, enable, KEY, start, until, WAIT } from './running.ts';

/** A refusal without a valid credential waits to be counted with others; it is written at the end of the process. */
const ALL = ['enable', 'authenticate', 'rdcp.audit.checkpoint'];

const OWN_SDK = `
  import { NodeSDK } from '${import.meta.resolve('@opentelemetry/sdk-node')}';
  import { RdcpInstrumentation } from '${built('index.js')}';
  const instrumentation = new RdcpInstrumentation({
    server: { port: 0 },
    security: { apiKeys: [{
      id: 'k', clientId: 'k', scopes: ['control'],
      hash: 'sha256:' + (await import('node:crypto')).createHash('sha256').update('${KEY}').digest('hex'),
    }] },
  });
  const sdk = new NodeSDK({ instrumentations: [instrumentation] });
  sdk.start();
  category('PAYMENTS');
  console.error('rdcp: remote control on ' + (await instrumentation.listen()).url);
  process.stdin.resume();`;

async function refusedAndSwitched(run: Awaited<ReturnType<typeof start>>): Promise<void> {
  const { url } = await announced(run);
  assert.equal(await enable(url, 'another-key-that-nobody-has-issued'), 401);
  assert.equal(await enable(url), 200);
}

describe('every audit record arrives at the collector, the last ones too', { concurrency: 2 }, () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`when ${signal} ends the process`, async (t) => {
      const receiver = await openReceiver(t);
      const run = await start(t, { env: { RDCP_API_KEY: KEY, ...receiver.env }, app: `category('PAYMENTS'); ${WAIT}` });
      await refusedAndSwitched(run);
      run.child.kill(signal);
      assert.deepEqual(await run.closed, [null, signal]);
      assert.deepEqual(receiver.audit(), ALL);
    });
  }

  it('when the process ends by itself', async (t) => {
    const receiver = await openReceiver(t);
    const run = await start(t, { env: { RDCP_API_KEY: KEY, ...receiver.env }, app: `category('PAYMENTS'); ${WAIT}` });
    await refusedAndSwitched(run);
    run.child.stdin.end();
    assert.deepEqual(await run.closed, [0, null]);
    assert.deepEqual(receiver.audit(), ALL);
  });

  it('when the application handles the signal, before it ends', async (t) => {
    const receiver = await openReceiver(t);
    const app = `
      category('PAYMENTS');
      process.on('SIGTERM', () => console.log('draining'));
      process.stdin.once('end', () => process.exit(5));
      ${WAIT}`;
    const run = await start(t, { env: { RDCP_API_KEY: KEY, ...receiver.env }, app });
    await refusedAndSwitched(run);
    run.child.kill('SIGTERM');
    await until(() => receiver.audit().length === ALL.length, run.child, run.output);
    run.child.stdin.end();
    assert.deepEqual(await run.closed, [5, null]);
    assert.deepEqual(receiver.audit(), ALL);
  });

  it('when an SDK of the application is shut down, and nothing else is done', async (t) => {
    const receiver = await openReceiver(t);
    const env = { ...receiver.env, OTEL_METRICS_EXPORTER: 'none', OTEL_TRACES_EXPORTER: 'none' };
    const app = `${OWN_SDK}
      process.stdin.once('end', () => sdk.shutdown().then(() => process.exit(3)));`;
    const run = await start(t, { options: [], env, app });
    await refusedAndSwitched(run);
    run.child.stdin.end();
    assert.deepEqual(await run.closed, [3, null], run.output.stderr);
    assert.deepEqual(receiver.audit(), ALL);
  });

  it('when the instrumentation is closed before the SDK of the application', async (t) => {
    const receiver = await openReceiver(t);
    const env = { ...receiver.env, OTEL_METRICS_EXPORTER: 'none', OTEL_TRACES_EXPORTER: 'none' };
    const app = `${OWN_SDK}
      process.stdin.once('end', async () => {
        await instrumentation.close();
        await sdk.shutdown();
      });`;
    const run = await start(t, { options: [], env, app });
    await refusedAndSwitched(run);
    run.child.stdin.end();
    assert.deepEqual(await run.closed, [0, null], run.output.stderr);
    assert.deepEqual(receiver.audit(), ALL);
  });
});
