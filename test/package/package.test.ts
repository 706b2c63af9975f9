import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openReceiver } from '../register/otlp-receiver.ts';
import { type Consumer, finish, installInto, LINES, packInto, SUBPATHS, tool } from './consumer.ts';
import {
  EVERY_ENTRY,
  FLOOD,
  loadedBy,
  MAIN_PATH,
  MISTAKE,
  ONE_GATE,
  SDK_AFTERWARDS,
  TYPED_CONSUMER,
  WITHOUT_SDK,
} from './scripts.ts';

/** Nothing but what the package cannot do without, in the oldest release that it allows. */
const MINIMUM = { '@opentelemetry/api': '1.9.0', '@opentelemetry/instrumentation': '0.200.0' };

const NAME = 'opentelemetry-instrumentation-rdcp';
const REGISTER = `${NAME}/register`;
/** Most files of the package that importing an entry may read: each costs up to a millisecond. */
const MOST_FILES = 8;
const QUIET = { OTEL_SDK_DISABLED: 'true' };

describe('the packed package', () => {
  const directory = mkdtempSync(join(tmpdir(), 'rdcp-package-'));
  let tarball = '';
  const consumers: Partial<Record<'3.x' | '2.x' | 'minimum', Consumer>> = {};

  function consumer(name: keyof typeof consumers): Consumer {
    const found = consumers[name];
    assert.ok(found, `${name} is installed`);
    return found;
  }

  before(async () => {
    tarball = await packInto(directory);
    await Promise.all([
      ...(['3.x', '2.x'] as const).map(async (line) => {
        consumers[line] = await installInto(join(directory, line), tarball, LINES[line]);
      }),
      installInto(join(directory, 'minimum'), tarball, MINIMUM).then((installed) => {
        consumers.minimum = installed;
      }),
    ]);
  });

  after(() => rmSync(directory, { recursive: true, force: true }));

  for (const line of ['3.x', '2.x'] as const) {
    describe(`beside OpenTelemetry ${line}`, () => {
      it('switches a category over HTTP, and its calls arrive in the SDK', async () => {
        const { code, stdout, stderr } = await consumer(line).node(MAIN_PATH);
        assert.deepEqual({ code, stdout }, { code: 0, stdout: 'arrived\n' }, stderr);
        assert.match(
          stderr,
          /^rdcp: remote control on http:\S+ and debug lines to OpenTelemetry\nrdcp: PAYMENTS on for 5m by test\n$/,
        );
      });

      it('finds an SDK that is registered after it, by another copy of the API', async () => {
        const { code, stdout, stderr } = await consumer(line).node(SDK_AFTERWARDS);
        assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: 'arrived\n', stderr: '' });
      });

      it('can be imported and required by every subpath', async () => {
        const { stdout, stderr } = await consumer(line).node(EVERY_ENTRY, { env: QUIET });
        assert.deepEqual({ stdout, stderr }, { stdout: 'all\n', stderr: '' });
      });

      it('can be required first', async () => {
        for (const entry of SUBPATHS) {
          const script = `
            import { createRequire } from 'node:module';
            createRequire(import.meta.url)('${entry}');`;
          const { code, stderr } = await consumer(line).node(script, { env: QUIET });
          assert.deepEqual({ code, stderr }, { code: 0, stderr: '' }, entry);
        }
      });

      it('starts everything by --import register', async () => {
        const script = `
          import { category } from 'opentelemetry-instrumentation-rdcp/api';
          import { trace } from '@opentelemetry/api';
          setTimeout(() => {
            trace.getTracer('app').startActiveSpan('request', (span) => {
              category('PAYMENTS', { enabled: true }).debug('charging');
              span.end();
            });
          }, 2000);`;
        const env = { RDCP_PORT: '0', OTEL_EXPORTER_PROMETHEUS_PORT: '0' };
        const { code, stderr } = await consumer(line).node(script, { args: ['--import', REGISTER], env });
        assert.equal(code, 0, stderr);
        const [announcement = '', debugged = ''] = stderr.split('\n');
        assert.match(
          announcement,
          /^rdcp: remote control on http:\S+, its key in \S+, metrics on http:\S+\/metrics and debug lines to stderr$/,
        );
        assert.match(debugged, / DEBUG PAYMENTS charging trace_id=(?!0{32})[0-9a-f]{32} span_id=[0-9a-f]{16}$/);
      });

      it('loses no error of the application behind a flood of debug records', async (t) => {
        const receiver = await openReceiver(t, { delayMs: 50 });
        for (const args of [
          ['--import', REGISTER],
          ['--require', REGISTER],
        ]) {
          const before = receiver.ofSeverity(17);
          const env = { RDCP_PORT: '0', OTEL_EXPORTER_PROMETHEUS_PORT: '0', ...receiver.env };
          const { code, stdout, stderr } = await consumer(line).node(FLOOD, { args, env });
          assert.deepEqual({ code, stdout }, { code: 0, stdout: 'flooded\n' }, stderr);
          assert.equal(receiver.ofSeverity(17) - before, 1, args[0]);
        }
        assert.ok(receiver.ofSeverity(5) >= 2 * 512, 'debug records arrive as well');
      });

      it('loads no SDK by the root entry', async () => {
        const { stdout, stderr } = await consumer(line).node(loadedBy(NAME));
        assert.match(stdout, /opentelemetry-instrumentation-rdcp\/dist\/index\.js/, stderr);
        assert.doesNotMatch(stdout, /sdk-node|exporter-prometheus/);
      });

      it('has types that compile, those of its dependencies included', async () => {
        assert.deepEqual(await consumer(line).compile(TYPED_CONSUMER), { code: 0, stdout: '', stderr: '' });
      });
    });
  }

  it('works in an application without an SDK, and writes what is debugged on stderr', async () => {
    const { code, stdout, stderr } = await consumer('minimum').node(WITHOUT_SDK);
    assert.equal(code, 0, stderr);
    assert.equal(stdout, '');
    assert.match(
      stderr,
      /^\S+ DEBUG PAYMENTS charging \{"order":42\}\n\S+ DEBUG PAYMENTS in a span\n\S+ DEBUG PAYMENTS instrumented\n$/,
    );
  });

  it('tells in one line what register lacks, and ends before the application runs', async () => {
    const result = await consumer('minimum').node(`console.log('ran');`, { args: ['--import', REGISTER] });
    assert.deepEqual(result, {
      code: 1,
      stdout: '',
      stderr: 'rdcp: @opentelemetry/sdk-node is needed here: npm install @opentelemetry/sdk-node\n',
    });
  });

  it('has one gate, imported, required or loaded from a second copy of the package', async () => {
    const sameModule = await consumer('3.x').node(ONE_GATE);
    assert.deepEqual(sameModule, { code: 0, stdout: 'Module false\n', stderr: '' });
    const inCommonJs = await consumer('2.x').node(ONE_GATE, { args: ['--no-experimental-require-module'] });
    assert.deepEqual(inCommonJs, { code: 0, stdout: 'Module true\n', stderr: '' });
  });

  it('is read from few files by every entry', async () => {
    for (const entry of SUBPATHS) {
      const { stdout } = await consumer('3.x').node(loadedBy(entry), { env: QUIET });
      const files = stdout.split('\n').filter((url) => url.includes(`/node_modules/${NAME}/dist/`));
      assert.ok(files.length > 0 && files.length <= MOST_FILES, `${entry}: ${files.join(' ')}`);
    }
  });

  it('shows its sources in stack traces', async () => {
    const { stdout } = await consumer('3.x').node(MISTAKE, { args: ['--enable-source-maps'] });
    assert.match(stdout, /^RdcpError: .*\n.*opentelemetry-instrumentation-rdcp\/src\/config\.ts:\d+:\d+\)\n/);
  });

  it('is laid out as publint and attw want it', async () => {
    const publint = await finish(tool('publint'), ['--strict', tarball], directory);
    assert.equal(publint.code, 0, publint.stdout);
    const attw = await finish(tool('attw'), ['--profile', 'strict', tarball], directory);
    assert.equal(attw.code, 0, attw.stdout);
  });
});
