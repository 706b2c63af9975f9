import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { built } from '../support/built.ts';
import { inFull } from '../support/tiers.ts';
import { openReceiver } from './otlp-receiver.ts';
import { announced, enable, KEY, start, WAIT } from './running.ts';

/** A refusal without a valid credential waits to be counted with others; it is written at the end of the process. */
const ALL = ['enable', 'authenticate', 'rdcp.audit.checkpoint'];

const UNDER_REGISTER = `category('PAYMENTS'); ${WAIT}`;

const HANDLED = `
  category('PAYMENTS');
  process.on('SIGTERM', () => console.log('draining'));
  process.stdin.once('end', () => process.exit(5));
  ${WAIT}`;

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
const SHUT_DOWN = `${OWN_SDK}
  process.stdin.once('end', () => sdk.shutdown().then(() => process.exit(3)));`;
const CLOSED_FIRST = `${OWN_SDK}
  process.stdin.once('end', async () => {
    await instrumentation.close();
    await sdk.shutdown();
  });`;

describe('every audit record arrives at the collector, the last ones too', { concurrency: 2 }, () => {
  for (const [tier, ending, app, signal, end] of [
    [it, 'SIGTERM ends the process', UNDER_REGISTER, 'SIGTERM', [null, 'SIGTERM']],
    [inFull, 'SIGINT ends the process', UNDER_REGISTER, 'SIGINT', [null, 'SIGINT']],
    [inFull, 'the process ends by itself', UNDER_REGISTER, undefined, [0, null]],
    [inFull, 'the application handles the signal, before it ends', HANDLED, 'SIGTERM', [5, null]],
    [inFull, 'an SDK of the application is shut down, and nothing else is done', SHUT_DOWN, undefined, [3, null]],
    [inFull, 'the instrumentation is closed before the SDK of the application', CLOSED_FIRST, undefined, [0, null]],
  ] as const) {
    tier(`when ${ending}`, async (t) => {
      const receiver = await openReceiver(t);
      const isOwn = app === SHUT_DOWN || app === CLOSED_FIRST;
      const env = isOwn
        ? { OTEL_METRICS_EXPORTER: 'none', OTEL_TRACES_EXPORTER: 'none' }
        : { RDCP_SERVER_API_KEY: KEY };
      const run = await start(t, { env: { ...receiver.env, ...env }, app, ...(isOwn && { options: [] }) });
      const { url } = await announced(run);
      assert.equal(await enable(url, 'another-key-that-was-never-issued!'), 401);
      assert.equal(await enable(url), 200);
      if (signal !== undefined) run.child.kill(signal);
      if (app === HANDLED) await run.until(() => receiver.audit().length === ALL.length);
      if (signal === undefined || app === HANDLED) run.child.stdin.end();
      assert.deepEqual(await run.closed, end, run.output.stderr);
      assert.deepEqual(receiver.audit(), ALL);
    });
  }
});
