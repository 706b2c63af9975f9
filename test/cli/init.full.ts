import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { assertBuilt } from '../support/built.ts';
import { newFolder } from '../support/folder.ts';
import { freePort } from '../support/free-port.ts';
import { PROGRAM_ENV } from '../support/program-env.ts';

const PACKAGES = ['express', 'pino', '@opentelemetry/sdk-node'];
const CLI = resolve('dist/cli/main.js');

const REQUIRES = `
  const app = require('express')();
  const log = require('pino')({ name: 'orders' });
  app.get('/', (req, res) => { log.debug('asked'); res.send('ok'); });
  app.listen(0, () => console.log('serves'));`;
const IMPORTS = REQUIRES.replace(/require\('(\w+)'\)/g, "(await import('$1')).default");

interface Form {
  readonly manifest: { readonly type?: string; readonly scripts: Readonly<Record<string, string>> };
  readonly file: string;
  readonly source: string;
  /** Installed from the registry. */
  readonly installs?: string;
}

const FORMS: Readonly<Record<string, Form>> = {
  'a CommonJS app': { manifest: { scripts: { start: 'node app.js' } }, file: 'app.js', source: REQUIRES },
  'an ECMAScript module that another script starts': {
    manifest: { type: 'module', scripts: { start: 'npm run serve', serve: 'node --no-warnings ./start.mjs' } },
    file: 'start.mjs',
    source: IMPORTS,
  },
  'a program that gets NODE_OPTIONS': {
    manifest: { scripts: { start: "NODE_OPTIONS='--no-warnings' ./app" } },
    file: 'app',
    source: `#!/usr/bin/env node\n${REQUIRES}`,
  },
  'TypeScript under tsx': {
    manifest: { type: 'module', scripts: { start: 'tsx main.ts' } },
    file: 'main.ts',
    source: `const answer: string = 'ok';\n${IMPORTS.replace("'ok'", 'answer')}`,
    installs: 'tsx@4',
  },
};

for (const [name, form] of Object.entries(FORMS)) {
  test(`what rdcp init writes puts ${name} under control`, async (t) => {
    const folder = await project(t, form);
    const run = promisify(execFile);
    await run(process.execPath, [CLI, 'init', '--write'], { cwd: folder });
    assert.match((await run(process.execPath, [CLI, 'init'], { cwd: folder })).stdout, /Nothing to do/);
    const port = await freePort();
    const env = { ...PROGRAM_ENV, RDCP_PORT: String(port), OTEL_EXPORTER_PROMETHEUS_PORT: '0' };
    // A group of its own: npm does not pass signals on to what a script of a script runs.
    const child = spawn('npm', ['start'], { cwd: folder, env, detached: true });
    const closed = once(child, 'close');
    t.after(async () => {
      process.kill(-child.pid!, 'SIGKILL');
      await closed;
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
    const isUp = () => ['serves', 'remote control on'].every((words) => output.includes(words));
    for (const end = Date.now() + 60_000; !isUp() && Date.now() < end; ) {
      assert.equal(child.exitCode, null, output);
      await new Promise((wait) => setTimeout(wait, 50));
    }
    const { stdout } = await run(process.execPath, [CLI, 'list', '--all', '--url', `http://127.0.0.1:${port}`], {
      cwd: folder,
      env: PROGRAM_ENV,
    });
    for (const category of ['ORDERS', 'EXPRESS', 'HTTP_SERVER'])
      assert.match(stdout, new RegExp(`^${category}\\s`, 'm'), output);
  });
}

async function project(t: TestContext, { manifest, file, source, installs }: Form): Promise<string> {
  assertBuilt();
  const folder = newFolder(t);
  const dependencies = Object.fromEntries(
    [...PACKAGES, 'opentelemetry-instrumentation-rdcp'].map((name) => [name, '*']),
  );
  const write = (content: object) => writeFileSync(join(folder, 'package.json'), JSON.stringify(content, undefined, 2));
  if (installs !== undefined) {
    write({ private: true });
    await promisify(execFile)('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', installs], {
      cwd: folder,
    });
  }
  write({ ...manifest, dependencies });
  mkdirSync(join(folder, 'node_modules/@opentelemetry'), { recursive: true });
  for (const name of PACKAGES) symlinkSync(resolve('node_modules', name), join(folder, 'node_modules', name));
  symlinkSync(resolve('.'), join(folder, 'node_modules/opentelemetry-instrumentation-rdcp'));
  writeFileSync(join(folder, file), source);
  chmodSync(join(folder, file), 0o755);
  return folder;
}
