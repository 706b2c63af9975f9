import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inFull } from '../support/tiers.ts';
import { openReceiver } from './otlp-receiver.ts';
import { API, start } from './running.ts';

const KEY = 'k'.repeat(40);

describe('under register', () => {
  it('log records of a scope below INFO are exported while its category is on', async (t) => {
    const receiver = await openReceiver(t);
    const run = await start(t, {
      env: { RDCP_API_KEY: KEY, RDCP_CONFIG: 'rdcp.json', ...receiver.env },
      files: { 'rdcp.json': JSON.stringify({ categories: { OTEL_ORDERS: { enabled: true } } }) },
      app: `
        import { logs } from '${API}';
        for (const scope of ['orders', 'payments']) {
          const logger = logs.getLogger(scope);
          for (const severityNumber of [5, 9]) {
            console.log(scope, severityNumber, logger.enabled({ severityNumber }));
            logger.emit({ severityNumber, body: scope });
          }
        }`,
    });
    assert.deepEqual(await run.closed, [0, null], run.output.stderr);
    assert.equal(run.output.stdout, 'orders 5 true\norders 9 true\npayments 5 false\npayments 9 true\n');
    assert.deepEqual([receiver.ofSeverity(5), receiver.ofSeverity(9)], [1, 2]);
  });

  inFull('log records pass as they did with adopt.otel false', async (t) => {
    const receiver = await openReceiver(t);
    const run = await start(t, {
      env: { RDCP_API_KEY: KEY, RDCP_CONFIG: 'rdcp.json', ...receiver.env },
      files: { 'rdcp.json': JSON.stringify({ adopt: { otel: false } }) },
      app: `import { logs } from '${API}'; logs.getLogger('orders').emit({ severityNumber: 5 });`,
    });
    assert.deepEqual(await run.closed, [0, null], run.output.stderr);
    assert.equal(receiver.ofSeverity(5), 1);
  });

  inFull("OpenTelemetry's diagnostics are exported without feeding themselves", async (t) => {
    const receiver = await openReceiver(t);
    const run = await start(t, {
      env: {
        RDCP_API_KEY: KEY,
        RDCP_CONFIG: 'rdcp.json',
        ...receiver.env,
        OTEL_BLRP_SCHEDULE_DELAY: '10',
      },
      files: { 'rdcp.json': JSON.stringify({ categories: { OTEL_DIAG: { enabled: true } } }) },
      app: `
        import { diag } from '${API}';
        diag.debug('said by the application');
        setTimeout(() => {}, 500);`,
    });
    assert.deepEqual(await run.closed, [0, null], run.output.stderr);
    const said = receiver.records().filter(({ attributes }) => attributes['rdcp.category.name'] === 'OTEL_DIAG');
    assert.ok(said.length >= 1 && said.length < 20, `${said.length} records`);
  });
});
