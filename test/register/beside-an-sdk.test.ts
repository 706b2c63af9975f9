import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { APP } from './beside-an-sdk.ts';
import { API, announced, KEY, REGISTER, start } from './running.ts';

describe('register beside an SDK attaches to it and starts none', { concurrency: 2 }, () => {
  it('but starts its own where only a no-op provider is registered', async (t) => {
    const noop = `
      import { trace } from '${API}';
      trace.setGlobalTracerProvider(trace.getTracerProvider().getDelegate());`;
    const options = ['--import', './noop.mjs', '--import', REGISTER];
    const run = await start(t, { env: { RDCP_SERVER_API_KEY: KEY }, options, files: { 'noop.mjs': noop }, app: APP });
    const { metrics } = await announced(run);
    assert.equal((await fetch(metrics)).status, 200);
  });
});
