import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inFull } from '../support/tiers.ts';
import { until } from '../support/until.ts';
import { openReceiver } from './otlp-receiver.ts';
import { API, announced, DEBUG_IN_A_SPAN, start } from './running.ts';

const KEY = 'k'.repeat(40);

describe('under register', () => {
  it('log records of a scope below INFO are exported while its category is on', async (t) => {
    const receiver = await openReceiver(t);
    const run = await start(t, {
      env: { RDCP_SERVER_API_KEY: KEY, RDCP_CONFIG: 'rdcp.json', ...receiver.env },
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

  it("a control's record has the caller's trace, its scope a schema, and debug records the resource's id", async (t) => {
    const receiver = await openReceiver(t);
    const run = await start(t, {
      env: {
        RDCP_SERVER_API_KEY: KEY,
        ...receiver.env,
        OTEL_BLRP_SCHEDULE_DELAY: '10',
        OTEL_RESOURCE_ATTRIBUTES: 'service.instance.id=pod-1',
      },
      app: DEBUG_IN_A_SPAN,
    });
    const { url } = await announced(run);
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const response = await fetch(`${url}/rdcp/v1/control`, {
      method: 'POST',
      headers: {
        'X-RDCP-API-Key': KEY,
        'Content-Type': 'application/json',
        traceparent: `00-${traceId}-b7ad6b7169203331-01`,
      },
      body: JSON.stringify({ action: 'enable', categories: ['PAYMENTS'] }),
    });
    assert.equal(response.status, 200);
    const received = (severity: number) => receiver.records().find(({ severityNumber }) => severityNumber === severity);
    const audit = await until('the audit record', () => received(9));
    assert.equal(audit.traceId, traceId);
    assert.equal(audit.time, Date.parse(String(audit.attributes['rdcp.audit.timestamp'])));
    assert.match(audit.scope.schemaUrl ?? '', /^https:\/\/opentelemetry\.io\/schemas\/1\.\d+\.0$/);
    assert.match(audit.scope.version ?? '', /^\d/);
    const line = await until('a debug record', () => received(5));
    assert.notEqual(line.traceId, traceId);
    for (const { attributes } of [audit, line]) assert.equal(attributes['rdcp.instance.id'], 'pod-1');
  });

  inFull('log records pass as they did with adopt.otel false', async (t) => {
    const receiver = await openReceiver(t);
    const run = await start(t, {
      env: { RDCP_SERVER_API_KEY: KEY, RDCP_CONFIG: 'rdcp.json', ...receiver.env },
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
        RDCP_SERVER_API_KEY: KEY,
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
