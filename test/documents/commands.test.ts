import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { metrics } from '@opentelemetry/api';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { createRdcp } from '../../src/index.ts';
import { makeKey } from '../auth/records.ts';
import { built } from '../support/built.ts';
import { freePort } from '../support/free-port.ts';
import { blocksOf } from './blocks.ts';

/** Commands of the documents run as they stand, in a folder of their own, with `rdcp` of this build; those of a cluster do not. */
const PREAMBLE = `set -eu -o pipefail
rdcp() { '${process.execPath}' '${built('cli/main.js')}' "$@"; }
npx() { test "$1" = rdcp; shift; rdcp "$@"; }
kubectl() { :; }
`;

interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs shell code, until it has ended or has written what is enough. */
function shell(code: string, cwd: string, env: NodeJS.ProcessEnv = {}, enough?: RegExp): Promise<Ran> {
  const { promise, resolve } = Promise.withResolvers<Ran>();
  const child = spawn('bash', ['-c', PREAMBLE + code], { cwd, env: { ...process.env, ...env }, detached: true });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text;
    if (enough?.test(stdout)) process.kill(-child.pid!);
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text;
  });
  child.on('close', (code) => resolve({ code, stdout, stderr }));
  return promise;
}

/** The statements of shell code that have a word, each with its lines. */
const statementsWith = (word: string, code: string) =>
  code
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter((line) => line.startsWith(word));

describe('curl in the documents', () => {
  const operator = makeKey({ scopes: ['admin'] });
  let provider: MeterProvider;
  let port = 0;
  let metricsPort = 0;
  let service: ReturnType<typeof createRdcp>;
  before(async () => {
    metricsPort = await freePort();
    provider = new MeterProvider({ readers: [new PrometheusExporter({ host: '127.0.0.1', port: metricsPort })] });
    metrics.setGlobalMeterProvider(provider);
    service = createRdcp({ server: { port: 0 }, security: { apiKeys: [operator.record] }, announce: false });
    const categories = ['DATABASE', 'CACHE', 'ORDERS'].map((name) => service.category(name));
    port = Number(new URL((await service.listen()).url).port);
    const emitted = setInterval(() => categories[0]?.debug('query'), 20);
    after(() => clearInterval(emitted));
  });
  after(async () => {
    await service.close();
    await provider.shutdown();
    metrics.disable();
  });

  /** What each is expected to show, by what it asks for. */
  const SHOWS: readonly (readonly [RegExp, RegExp])[] = [
    [/\/discovery/, /"name":"DATABASE"/],
    [/"action":"enable"/, /"otelrdcp_fleet"|"status":"success"/],
    [/\/audit/, /"action":"enable"/],
    [/\/forecast/, /"callsPerSecond"/],
    [/\/tail/, /event: open\n/],
    [/\/events/, /event: snapshot\n/],
  ];
  const found = blocksOf('sh').flatMap(({ place, code }) =>
    statementsWith('curl', code).map((statement) => ({ place, statement })),
  );

  for (const { place, statement } of found.filter(({ statement }) => !statement.includes(':9464/'))) {
    const [, path] = /(\/rdcp\/v1\/\w+)/.exec(statement) ?? [];
    it(`${place}: ${path}`, async () => {
      const [, shows] = SHOWS.find(([asks]) => asks.test(statement)) ?? assert.fail(statement);
      const here = statement.replace(/(?:localhost|127\.0\.0\.1):9465/, `127.0.0.1:${port}`).replace('"10s"', '"1s"');
      const isStream = statement.startsWith('curl -N');
      const { stdout, stderr, code } = await shell(here, tmpdir(), { KEY: operator.key }, isStream ? shows : undefined);
      assert.match(stdout, shows, stderr);
      if (!isStream) assert.equal(code, 0, stderr);
    });
  }

  it('asks the metrics port for series that there are', async () => {
    const [statement = ''] = found.map(({ statement }) => statement).filter((each) => each.includes(':9464/'));
    const here = statement.replace('localhost:9464', `127.0.0.1:${metricsPort}`);
    const { stdout, stderr, code } = await shell(here, tmpdir());
    assert.match(stdout, /^rdcp_debug_calls_total\{rdcp_category_name="DATABASE"/m, stderr);
    assert.equal(code, 0, stderr);
  });

  it('and there are some', () => assert.ok(found.length >= 7, `${found.length}`));
});

describe('commands in the documents that make keys', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rdcp-commands-'));
  after(() => rmSync(folder, { recursive: true }));
  const found = blocksOf('sh').filter(({ code }) => /openssl|keys create/.test(code) && !/^# rdcp/.test(code));

  for (const { place, code } of found) {
    it(`do what they say: ${place}`, async () => {
      const withId = code.replace(
        /^(.* keys revoke .*) ID$/m,
        '$1 "$(npx rdcp keys list --file keys.json -o json | grep -o "key-[0-9a-f]*" | head -1)"',
      );
      const ran = await shell(withId, mkdtempSync(join(folder, 'run-')));
      assert.equal(ran.code, 0, ran.stderr);
    });
  }

  it('and there are some', () => assert.ok(found.length >= 4, `${found.length}`));
});
