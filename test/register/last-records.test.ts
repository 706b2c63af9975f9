import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inFull } from '../support/tiers.ts';
import { ALL, OWN_SDK, refusedAndSwitched } from './last-records.ts';
import { openReceiver } from './otlp-receiver.ts';
import { KEY, start, WAIT } from './running.ts';

describe('every audit record arrives at the collector, the last ones too', { concurrency: 2 }, () => {
  it('when SIGTERM ends the process', async (t) => {
    const receiver = await openReceiver(t);
    const run = await start(t, {
      env: { RDCP_SERVER_API_KEY: KEY, ...receiver.env },
      app: `category('PAYMENTS'); ${WAIT}`,
    });
    await refusedAndSwitched(run);
    run.child.kill('SIGTERM');
    assert.deepEqual(await run.closed, [null, 'SIGTERM']);
    assert.deepEqual(receiver.audit(), ALL);
  });

  inFull('when an SDK of the application is shut down, and nothing else is done', async (t) => {
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
});
