import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { APP, attaches } from './beside-an-sdk.ts';
import { API, announced, KEY, REGISTER, start } from './running.ts';

describe('register beside an SDK attaches to it and starts none', { concurrency: 2 }, () => {
  attaches([
    'an SDK that a module of the application started',
    'auto-instrumentations-node before it',
    'auto-instrumentations-node after it',
    'auto-instrumentations-node before it, by --require',
  ]);

  it('of which it names the signals, and opens no metrics port for those that are missing', async (t) => {
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
