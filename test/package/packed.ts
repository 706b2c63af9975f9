import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { openReceiver } from '../register/otlp-receiver.ts';
import { freePort } from '../support/free-port.ts';
import { type Consumer, SUBPATHS } from './consumer.ts';
import { followDemo } from './demo.ts';
import { EVERY_ENTRY, FLOOD, loadedBy, MAIN_PATH, SDK_AFTERWARDS, TYPED_CONSUMER } from './scripts.ts';

const NAME = 'opentelemetry-instrumentation-rdcp';
const REGISTER = `${NAME}/register`;
/** Most files of the package that importing an entry may read: each costs up to a millisecond. */
const MOST_FILES = 30;
const QUIET = { OTEL_SDK_DISABLED: 'true' };

/** The behaviour of the packed package beside an SDK of OpenTelemetry. */
export function behavesAsPacked(consumer: () => Consumer): void {
  it('switches a category over HTTP, and its calls arrive in the SDK', async () => {
    const { code, stdout, stderr } = await consumer().node(MAIN_PATH);
    assert.deepEqual({ code, stdout }, { code: 0, stdout: 'arrived\n' }, stderr);
    assert.match(
      stderr,
      /^rdcp: remote control on http:\S+ and debug lines to OpenTelemetry\nrdcp: PAYMENTS on for 5m by test\n$/,
    );
  });

  it('can be imported and required by every subpath', async () => {
    const { stdout, stderr } = await consumer().node(EVERY_ENTRY, { env: QUIET });
    assert.deepEqual({ stdout, stderr }, { stdout: 'all\n', stderr: '' });
  });
}

/** The same in more processes, for what is installed. */
export function behavesAsInstalled(consumer: () => Consumer): void {
  behavesAsPacked(consumer);

  it('has types that compile, those of its dependencies included', async () => {
    assert.deepEqual(await consumer().compile(TYPED_CONSUMER), { code: 0, stdout: '', stderr: '' });
  });

  it('finds an SDK that is registered after it, by another copy of the API', async () => {
    const { code, stdout, stderr } = await consumer().node(SDK_AFTERWARDS);
    assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: 'arrived\n', stderr: '' });
  });

  for (const flags of [[], ['--no-experimental-require-module']]) {
    it(['starts everything by --import register', ...flags].join(', with '), async () => {
      const script = `
      import { category } from 'opentelemetry-instrumentation-rdcp/api';
      import { trace } from '@opentelemetry/api';
      const listening = () => fetch('http://127.0.0.1:' + process.env.RDCP_PORT).then(() => true, () => false);
      while (!(await listening())) await new Promise((resolve) => setTimeout(resolve, 20));
      trace.getTracer('app').startActiveSpan('request', (span) => {
        category('PAYMENTS', { enabled: true }).debug('charging');
        span.end();
      });`;
      const env = { RDCP_PORT: String(await freePort()), OTEL_EXPORTER_PROMETHEUS_PORT: '0' };
      const { code, stderr } = await consumer().node(script, { args: [...flags, '--import', REGISTER], env });
      assert.equal(code, 0, stderr);
      const [announcement = '', debugged = ''] = stderr.split('\n');
      assert.match(
        announcement,
        /^rdcp: remote control on http:\S+, its key in \S+, metrics on http:\S+\/metrics and debug lines to stderr$/,
      );
      assert.match(debugged, / DEBUG PAYMENTS charging trace_id=(?!0{32})[0-9a-f]{32} span_id=[0-9a-f]{16}$/);
    });
  }

  it('loses no error of the application behind a flood of debug records', async (t) => {
    const receiver = await openReceiver(t, { delayMs: 50 });
    const categories = { OTEL_APP: { enabled: true } };
    const controls = { budget: { categories: { OTEL_APP: false } } };
    writeFileSync(join(consumer().directory, 'flood.json'), JSON.stringify({ categories, controls }));
    for (const args of [
      ['--import', REGISTER],
      ['--require', REGISTER],
    ]) {
      const before = receiver.ofSeverity(17);
      const env = { RDCP_PORT: '0', RDCP_CONFIG: 'flood.json', OTEL_EXPORTER_PROMETHEUS_PORT: '0', ...receiver.env };
      const { code, stdout, stderr } = await consumer().node(FLOOD, { args, env });
      assert.deepEqual({ code, stdout }, { code: 0, stdout: 'flooded\n' }, stderr);
      assert.equal(receiver.ofSeverity(17) - before, 1, args[0]);
    }
    assert.ok(receiver.ofSeverity(5) >= 2 * 512, 'debug records arrive as well');
  });
}

/** What is the same beside every line of OpenTelemetry. */
export function behavesAsItsFiles(consumer: () => Consumer): void {
  it('starts the shop by its demo, metrics included, and each command that it shows works', async (t) => {
    const { stdout, stderr, metrics } = await followDemo(t, consumer());
    assert.ok(stdout.includes(`http://localhost:${metrics}/metrics`), stdout);
    assert.match(stderr, / DEBUG DATABASE query .*trace_id=/);
  });

  it('shows a short line of an uncaught error, and names its functions and their lines in the stack trace', async () => {
    const { code, stderr } = await consumer().node(`
      import { createRdcp } from '${NAME}';
      createRdcp({ server: { port: 'none' } });`);
    assert.equal(code, 1);
    const trace = / +at (?:Object\.)?parseConfig .*\/dist\/chunks\/[\w-]+\.js:(?!1:)\d+:\d+\)\n/;
    assert.match(stderr, new RegExp(`RdcpError: configuration: server\\.port.*\\n${trace.source}`));
    assert.ok(stderr.length < 4000, stderr);
  });

  it('can be required first', async () => {
    for (const entry of SUBPATHS) {
      const script = `
        import { createRequire } from 'node:module';
        createRequire(import.meta.url)('${entry}');`;
      const { code, stderr } = await consumer().node(script, { env: QUIET });
      assert.deepEqual({ code, stderr }, { code: 0, stderr: '' }, entry);
    }
  });

  it('is read from few files by every entry', async () => {
    for (const entry of SUBPATHS) {
      const { stdout } = await consumer().node(loadedBy(entry), { env: QUIET });
      const files = stdout.split('\n').filter((url) => url.includes(`/node_modules/${NAME}/dist/`));
      assert.ok(files.length > 0 && files.length <= MOST_FILES, `${entry}: ${files.join(' ')}`);
    }
  });
}
