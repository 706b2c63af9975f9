import assert from 'node:assert/strict';
import { it } from 'node:test';
import { openReceiver } from './otlp-receiver.ts';
import { API, start } from './running.ts';

const ERRORS = 20;

it('loses no error of the application behind a flood of debug records, over a slow collector', async (t) => {
  const receiver = await openReceiver(t, { delayMs: 50 });
  const run = await start(t, {
    env: { RDCP_SERVER_API_KEY: 'k'.repeat(40), RDCP_CONFIG: 'rdcp.json', ...receiver.env },
    files: {
      'rdcp.json': JSON.stringify({
        categories: { OTEL_APP: { enabled: true } },
        controls: { budget: { categories: { OTEL_APP: false } } },
      }),
    },
    app: `
      import { logs } from '${API}';
      const logger = logs.getLogger('app');
      for (let error = 0; error < ${ERRORS}; error++) {
        for (let call = 0; call < ${100_000 / ERRORS}; call++) logger.emit({ severityNumber: 5, body: 'debug' });
        logger.emit({ severityNumber: 17, body: 'error' });
        await new Promise((resolve) => setImmediate(resolve));
      }`,
  });
  assert.deepEqual(await run.closed, [0, null], run.output.stderr);
  assert.equal(receiver.ofSeverity(17), ERRORS);
  const debug = receiver.ofSeverity(5);
  assert.ok(debug >= 2048, `${debug} debug records`);
});
