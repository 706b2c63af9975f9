import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { samples } from './metrics/scrape.ts';
import { announced, DEBUG_IN_A_SPAN, enable, KEY, start, takenPort, until, WAIT } from './register/running.ts';

describe('node --import …/register', { concurrency: 2 }, () => {
  it('serves the remote control and Prometheus, and writes debug lines with trace ids on stderr', async (t) => {
    const run = await start(t, { env: { RDCP_SERVER_API_KEY: KEY }, app: DEBUG_IN_A_SPAN });
    const { url, metrics } = await announced(run);
    assert.equal(run.output.stderr.split('\n').length, 2, `one line: ${run.output.stderr}`);
    assert.equal(await enable(url), 200);
    await until(() => run.output.stderr.includes('charging'), run.child, run.output);
    assert.match(
      run.output.stderr,
      /\dZ DEBUG PAYMENTS charging \{"order":42\} trace_id=[0-9a-f]{32} span_id=[0-9a-f]{16}\n/,
    );
    assert.equal(metrics, `http://localhost:${run.metricsPort}/metrics`);
    const text = await (await fetch(metrics)).text();
    assert.equal(samples(text, 'rdcp_category_enabled', 'rdcp_category_name').PAYMENTS, 1);
    assert.ok(Number(samples(text, 'rdcp_debug_calls_total', 'rdcp_category_name').PAYMENTS) > 0);
    run.child.stdin.end();
    assert.deepEqual(await run.closed, [0, null]);
    assert.doesNotMatch(run.output.stderr, new RegExp(KEY));
  });

  it('ends with code 1 and one line, before the application runs, when the configuration is wrong', async (t) => {
    const run = await start(t, { env: { RDCP_PORT: 'http' }, app: `console.log('ran');` });
    assert.deepEqual(await run.closed, [1, null]);
    assert.equal(run.output.stdout, '');
    assert.match(run.output.stderr, /^rdcp: RDCP_PORT: .*\n$/);
  });

  it('reports a control port that is taken, names the variable that chooses another, and runs on', async (t) => {
    const port = await takenPort(t, '127.0.0.1');
    const env = { RDCP_SERVER_API_KEY: KEY, RDCP_PORT: String(port) };
    const run = await start(t, { env, app: WAIT });
    await announced(run);
    const line = new RegExp(`port ${port} is in use: choose another by server.port \\(RDCP_PORT`);
    await until(() => line.test(run.output.stderr), run.child, run.output);
    assert.doesNotMatch(run.output.stderr, /remote control on/);
  });
});
