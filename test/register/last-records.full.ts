import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ALL, OWN_SDK, refusedAndSwitched } from './last-records.ts';
import { openReceiver } from './otlp-receiver.ts';
import { KEY, start, until, WAIT } from './running.ts';

describe('every audit record arrives at the collector, the last ones too', { concurrency: 2 }, () => {
  it('when SIGINT ends the process', async (t) => {
    const receiver = await openReceiver(t);
    const run = await start(t, {
      env: { RDCP_SERVER_API_KEY: KEY, ...receiver.env },
      app: `category('PAYMENTS'); ${WAIT}`,
    });
    await refusedAndSwitched(run);
    run.child.kill('SIGINT');
    assert.deepEqual(await run.closed, [null, 'SIGINT']);
    assert.deepEqual(receiver.audit(), ALL);
  });

  it('when the process ends by itself', async (t) => {
    const receiver = await openReceiver(t);
    const run = await start(t, {
      env: { RDCP_SERVER_API_KEY: KEY, ...receiver.env },
      app: `category('PAYMENTS'); ${WAIT}`,
    });
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
    const run = await start(t, { env: { RDCP_SERVER_API_KEY: KEY, ...receiver.env }, app });
    await refusedAndSwitched(run);
    run.child.kill('SIGTERM');
    await until(() => receiver.audit().length === ALL.length, run.child, run.output);
    run.child.stdin.end();
    assert.deepEqual(await run.closed, [5, null]);
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
