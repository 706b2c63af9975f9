import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { newFolder } from '../support/folder.ts';
import { freePort } from '../support/free-port.ts';
import { type Consumer, finish, installInto, LINES, packInto, tool } from './consumer.ts';
import { followDemo } from './demo.ts';
import { behavesAsInstalled, behavesAsItsFiles } from './packed.ts';
import { WITHOUT_SDK } from './scripts.ts';

/** Nothing but what the package cannot do without, in the oldest release that it allows. */
const MINIMUM = { '@opentelemetry/api': '1.9.0', '@opentelemetry/instrumentation': '0.200.0' };

const REGISTER = 'opentelemetry-instrumentation-rdcp/register';

describe('the packed package', () => {
  const directory = newFolder();
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

  for (const line of ['3.x', '2.x'] as const) {
    describe(`installed beside OpenTelemetry ${line}`, () => behavesAsInstalled(() => consumer(line)));
  }
  describe('wherever it is installed', () => behavesAsItsFiles(() => consumer('3.x')));

  it('works in an application without an SDK, and writes what is debugged on stderr', async () => {
    const { code, stdout, stderr } = await consumer('minimum').node(WITHOUT_SDK);
    assert.equal(code, 0, stderr);
    assert.equal(stdout, '');
    assert.match(
      stderr,
      /^\S+ DEBUG PAYMENTS charging \{"order":42\}\n\S+ DEBUG PAYMENTS in a span\n\S+ DEBUG PAYMENTS instrumented\n$/,
    );
  });

  it('names in one line the package that register lacks, and ends before the application runs', async () => {
    const result = await consumer('minimum').node(`console.log('ran');`, { args: ['--import', REGISTER] });
    assert.deepEqual(result, {
      code: 1,
      stdout: '',
      stderr: 'rdcp: missing package @opentelemetry/sdk-node: run npm install @opentelemetry/sdk-node\n',
    });
  });

  it('starts the shop by its demo where there is no SDK, and says what its metrics need', async (t) => {
    const { stdout, stderr } = await followDemo(t, consumer('minimum'));
    assert.match(stdout, /^Metrics {8}none here/m);
    assert.match(
      stderr,
      /^rdcp: no metrics without OpenTelemetry's SDK: npm install \S+ @opentelemetry\/sdk-node first$/m,
    );
  });

  it('starts the shop by npx in an empty folder', async () => {
    const cwd = join(directory, 'empty');
    mkdirSync(cwd);
    const npx = ['--yes', '--prefer-offline', `--package=${tarball}`, 'opentelemetry-instrumentation-rdcp'];
    const inherited = Object.entries(process.env).filter(([name]) => !/^(?:OTEL|RDCP|SHOP)_|^NODE_OPTIONS$/.test(name));
    const env = {
      ...(Object.fromEntries(inherited) as Record<string, string>),
      SHOP_PORT: '0',
      RDCP_PORT: String(await freePort()),
      npm_config_cache: join(directory, 'cache'),
    };
    // npx has run nothing on this machine; the packages of others are those that the installations before have fetched.
    const { stdout: cache } = await finish('npm', ['config', 'get', 'cache'], cwd);
    mkdirSync(env.npm_config_cache);
    symlinkSync(join(cache.trim(), '_cacache'), join(env.npm_config_cache, '_cacache'));
    const demo = await finish('npx', [...npx, 'demo', '--once'], cwd, env);
    assert.equal(demo.code, 0, demo.stderr);
    assert.match(demo.stdout, /^\d+ requests, [1-9]\d* orders accepted$/m);
    assert.deepEqual(readdirSync(cwd).sort(), ['.rdcp', 'shop-control.sqlite']);
    const { stdout } = await finish('npx', [...npx, '--version'], cwd, env);
    assert.match(stdout, /^\d+\.\d+\.\d+\n$/);
  });

  it('is laid out as publint and attw want it', async () => {
    const publint = await finish(tool('publint'), ['--strict', tarball], directory);
    assert.equal(publint.code, 0, publint.stdout);
    const attw = await finish(tool('attw'), ['--profile', 'strict', tarball], directory);
    assert.equal(attw.code, 0, attw.stdout);
  });
});
