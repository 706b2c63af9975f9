// Every night: it installs three bundlers, and the shape of the package is checked by each change (package.full.ts).

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { build } from 'rolldown';
import { newFolder } from '../support/folder.ts';
import { type Consumer, finish, installInto, LINES, packInto } from './consumer.ts';
import { BUNDLED } from './scripts.ts';

const TOOLS = { esbuild: '0.28.2', webpack: '5.113.0', '@yarnpkg/cli-dist': '4.18.1' };
const run = promisify(execFile);

/** Scripts that bundle `main.mjs` into the file of their argument. Koa has CommonJS in it, so that ES modules need `require`. */
const SCRIPTS = {
  esbuild: `
    import { build } from 'esbuild';
    await build({ entryPoints: ['main.mjs'], outfile: process.argv[2], bundle: true, platform: 'node', format: 'cjs', logLevel: 'error' });`,
  webpack: `
    import { dirname, basename, resolve } from 'node:path';
    import webpack from 'webpack';
    const [path, filename] = [dirname, basename].map((part) => part(process.argv[2]));
    const options = { mode: 'none', target: 'node', entry: resolve('main.mjs'), output: { path, filename } };
    webpack(options, (error, stats) => {
      const { errors } = stats.toJson({ errors: true });
      if (error ?? errors[0]) throw error ?? errors[0];
    });`,
};

describe('an application with conditions, made into one file', () => {
  const directory = newFolder();
  /** Has no node_modules. */
  const alone = join(directory, 'alone');
  let tarball = '';
  let consumer: Consumer;
  before(async () => {
    mkdirSync(alone);
    tarball = await packInto(directory);
    consumer = await installInto(join(directory, 'application'), tarball, { ...LINES['3.x'], ...TOOLS });
    writeFileSync(join(consumer.directory, 'main.mjs'), BUNDLED);
  });

  async function runs(file: string): Promise<void> {
    const { code, stdout, stderr } = await finish(process.execPath, [file], alone);
    assert.deepEqual({ code, stdout }, { code: 0, stdout: 'rows 2\n' }, stderr);
  }

  for (const format of ['esm', 'cjs'] as const) {
    it(`runs by Rolldown, as ${format}`, async () => {
      const file = join(alone, `rolldown.${format === 'esm' ? 'mjs' : 'cjs'}`);
      const { directory: cwd } = consumer;
      const output = { file, format, codeSplitting: false };
      await build({ cwd, input: './main.mjs', platform: 'node', logLevel: 'silent', output });
      await runs(file);
    });
  }

  for (const [bundler, script] of Object.entries(SCRIPTS)) {
    it(`runs by ${bundler}`, async () => {
      const file = join(alone, bundler, 'bundle.cjs');
      mkdirSync(dirname(file));
      writeFileSync(join(consumer.directory, 'bundle.mjs'), script);
      const { code, stderr } = await finish(process.execPath, ['bundle.mjs', file], consumer.directory);
      assert.equal(code, 0, stderr);
      await runs(file);
    });
  }

  it("runs from the archives of Yarn's Plug'n'Play, and so does the command", async () => {
    const cwd = join(directory, 'pnp');
    mkdirSync(cwd);
    cpSync(tarball, join(cwd, 'rdcp.tgz'));

    const dependencies = { ...LINES['3.x'], 'opentelemetry-instrumentation-rdcp': 'file:./rdcp.tgz' };
    writeFileSync(join(cwd, 'package.json'), JSON.stringify({ private: true, dependencies }));
    writeFileSync(join(cwd, 'main.mjs'), BUNDLED);
    const registry = (await run('npm', ['config', 'get', 'registry'])).stdout.trim();
    const env: Record<string, string> = {
      ...Object.fromEntries(Object.entries(process.env).filter(([name]) => /CA_CERTS|proxy/i.test(name))),
      PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}`,
      YARN_ENABLE_GLOBAL_CACHE: 'false',
      YARN_ENABLE_IMMUTABLE_INSTALLS: 'false',
      YARN_ENABLE_SCRIPTS: 'false',
      YARN_ENABLE_TELEMETRY: 'false',
      YARN_NODE_LINKER: 'pnp',
      YARN_NPM_REGISTRY_SERVER: registry,
      ...(registry.startsWith('http:') && { YARN_UNSAFE_HTTP_WHITELIST: new URL(registry).hostname }),
    };
    const program = join(consumer.directory, 'node_modules/@yarnpkg/cli-dist/bin/yarn.js');
    const yarn = (...args: string[]) => finish(process.execPath, [program, ...args], cwd, env);
    const installed = await yarn('install');
    assert.equal(installed.code, 0, installed.stdout);
    const { code, stdout, stderr } = await yarn('node', 'main.mjs');
    assert.deepEqual({ code, stdout }, { code: 0, stdout: 'rows 2\n' }, stderr);
    assert.match((await yarn('rdcp', '--version')).stdout, /^\d+\.\d+\.\d+\n$/);
  });
});
