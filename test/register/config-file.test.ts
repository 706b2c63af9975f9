import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createRdcpClient } from '../../src/client.ts';
import { until } from '../support/until.ts';
import { openReceiver } from './otlp-receiver.ts';
import { announced, DEBUG_IN_A_SPAN, enable, KEY, REGISTER, start } from './running.ts';

/** An application that ends by itself. */
const APP = `console.log('ran');`;

/** Starts an application whose OTEL_CONFIG_FILE has that text; without one there is no such file. */
const startWith = (
  t: TestContext,
  file: string | undefined,
  { env = {}, files = {}, ...run }: Parameters<typeof start>[1],
) =>
  start(t, {
    ...run,
    env: { RDCP_SERVER_API_KEY: KEY, OTEL_CONFIG_FILE: 'otel.yaml', ...env },
    files: { ...files, ...(file !== undefined && { 'otel.yaml': file }) },
  });

describe('OTEL_CONFIG_FILE', () => {
  it('decides where telemetry goes, and the variables do not', async (t) => {
    const receiver = await openReceiver(t);
    const other = await openReceiver(t);
    const file = `
file_format: '1.0'
resource:
  attributes: [{ name: service.name, value: shop }]
logger_provider:
  processors:
    - batch: { schedule_delay: 10, exporter: { otlp_http: { endpoint: '${receiver.env.OTEL_EXPORTER_OTLP_ENDPOINT}/v1/logs', encoding: json } } }
`;
    const run = await startWith(t, file, { env: other.env, app: DEBUG_IN_A_SPAN });
    const { url } = await announced(run);
    assert.match(run.output.stderr, /debug lines to OpenTelemetry$/m);
    assert.doesNotMatch(run.output.stderr, /metrics on/);
    assert.equal(await enable(url), 200);
    await until('a debug record', () => receiver.ofSeverity(5) > 0);
    run.child.stdin.end();
    assert.deepEqual(await run.closed, [0, null], run.output.stderr);
    assert.ok(receiver.audit().includes('rdcp.audit.checkpoint'), 'flushed at the end');
    assert.deepEqual(other.paths, []);
  });

  const DECLARED = `
file_format: '1.0'
instrumentation/development:
  js:
    rdcp:
      categories: { PAYMENTS: { description: '\${WHAT}', enabled: true } }
      adopt: false
`;
  const SDK = import.meta.resolve('@opentelemetry/sdk-node');
  for (const [what, options, files] of [
    ['', undefined, {}],
    [
      ', also beside an SDK that the application started',
      ['--import', './sdk.mjs', '--import', REGISTER],
      { 'sdk.mjs': `import { startNodeSDK } from '${SDK}'; startNodeSDK();` },
    ],
  ] as const) {
    it(`configures the remote control by rdcp in instrumentation/development: js${what}`, async (t) => {
      const env = { WHAT: 'cards and refunds' };
      const run = await startWith(t, DECLARED, { env, files, ...(options && { options }), app: DEBUG_IN_A_SPAN });
      const { url } = await announced(run);
      const { categories } = await createRdcpClient({ baseUrl: url, apiKey: KEY }).discovery();
      assert.deepEqual(
        categories.map(({ name, description, enabled }) => [name, description, enabled]),
        [['PAYMENTS', 'cards and refunds', true]],
      );
    });
  }

  it('with an option that there is not stops the start, in one line', async (t) => {
    const run = await startWith(t, DECLARED.replace('adopt', 'adapt'), { app: APP });
    assert.deepEqual(await run.closed, [1, null]);
    assert.match(run.output.stderr, /^rdcp: OTEL_CONFIG_FILE: .*adapt.*\n$/);
  });

  it('with disabled: true starts nothing', async (t) => {
    const run = await startWith(t, "file_format: '1.0'\ndisabled: true\n", { app: APP });
    assert.deepEqual(await run.closed, [0, null]);
    assert.deepEqual(run.output, { stdout: 'ran\n', stderr: '' });
  });

  for (const [what, file, problem] of [
    [
      'that is missing',
      undefined,
      /^rdcp: OTEL_CONFIG_FILE: otel\.yaml cannot be read \(ENOENT\); no OpenTelemetry SDK is started$/m,
    ],
    [
      'of broken YAML',
      'logger_provider: [}',
      /^rdcp: OTEL_CONFIG_FILE: otel\.yaml cannot be used: .*; no OpenTelemetry SDK is started$/m,
    ],
  ] as const) {
    it(`${what} is one line: the application runs, with its remote control and debug lines on stderr`, async (t) => {
      const run = await startWith(t, file, { app: DEBUG_IN_A_SPAN });
      const { url } = await announced(run);
      assert.match(run.output.stderr, problem);
      assert.equal(await enable(url), 200);
      await until('a debug line', () => / DEBUG PAYMENTS charging/.test(run.output.stderr));
      assert.equal(run.output.stderr.match(/OTEL_CONFIG_FILE/g)?.length, 1);
    });
  }
});
