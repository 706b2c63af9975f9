import assert from 'node:assert/strict';
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { runsApplication } from '../../src/assembly/register/application.ts';
import { takePm2Variables } from '../../src/assembly/register/environment.ts';
import { applicationPackage } from '../../src/otel/loading/package.ts';
import { start } from '../examples/child.ts';
import { built, ROOT } from '../support/built.ts';
import { newFolder } from '../support/folder.ts';
import { freePort } from '../support/free-port.ts';
import { PROGRAM_ENV } from '../support/program-env.ts';
import { inFull } from '../support/tiers.ts';
import { KEY, REGISTER } from './running.ts';

const INHERITED = { NODE_OPTIONS: `--import ${REGISTER}` };
const NAMED = ['--import', REGISTER];

function directory(t: TestContext, files: Record<string, string>): string {
  const path = realpathSync(newFolder(t));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), text);
  }
  return path;
}

function runs(program: string | undefined, { execArgv = [] as string[], env = INHERITED as NodeJS.ProcessEnv } = {}) {
  return runsApplication({ program, execArgv, env });
}

describe('which process runs an application', () => {
  it('not one of a package manager, by whatever link its command is called', (t) => {
    const cwd = directory(t, {
      'lib/node_modules/npm/package.json': '{ "name": "npm" }',
      'lib/node_modules/npm/bin/npm-cli.js': '',
      'lib/node_modules/corepack/package.json': '{ "name": "corepack" }',
      'lib/node_modules/corepack/dist/yarn.js': '',
      'cache/corepack/v1/yarn/4.5.0/yarn.js': '',
      'app/.yarn/releases/yarn-4.5.0.cjs': '',
      'app/package.json': '{ "name": "app" }',
    });
    symlinkSync(join(cwd, 'lib/node_modules/npm/bin/npm-cli.js'), join(cwd, 'npm'));
    for (const program of [
      'npm',
      'lib/node_modules/corepack/dist/yarn.js',
      'cache/corepack/v1/yarn/4.5.0/yarn.js',
      'app/.yarn/releases/yarn-4.5.0.cjs',
    ]) {
      assert.equal(runs(join(cwd, program)), false, program);
      assert.equal(runs(join(cwd, program), { execArgv: NAMED }), false, program);
    }
  });

  it('not one of a tool that starts the application, but the application that it starts', (t) => {
    const cwd = directory(t, {
      'package.json': '{ "name": "shop" }',
      'src/main.js': '',
      'src/package.json': '{ "type": "commonjs" }',
      'node_modules/nodemon/package.json': '{ "name": "nodemon" }',
      'node_modules/nodemon/bin/nodemon.js': '',
      'node_modules/pm2/package.json': '{ "name": "pm2" }',
      'node_modules/pm2/bin/pm2': '',
      'node_modules/pm2/lib/Daemon.js': '',
      'node_modules/pm2/lib/ProcessContainer.js': '',
      'node_modules/vite/package.json': '{ "name": "vite" }',
      'node_modules/vite/bin/vite.js': '',
    });
    const expected = {
      'src/main.js': true,
      src: true,
      'not/there.js': true,
      'node_modules/nodemon/bin/nodemon.js': false,
      'node_modules/pm2/bin/pm2': false,
      'node_modules/pm2/lib/Daemon.js': false,
      'node_modules/pm2/lib/ProcessContainer.js': true,
      'node_modules/vite/bin/vite.js': true,
    };
    for (const [program, is] of Object.entries(expected)) assert.equal(runs(join(cwd, program)), is, program);
  });

  it('the command of this package does not, an example of it does', () => {
    assert.equal(runs(built('cli/main.js')), false);
    assert.equal(runs(join(ROOT, 'examples/shop/main.ts')), true);
  });

  it('code without a file does when register was named for it, not when it is inherited', () => {
    for (const program of [undefined, '-']) {
      assert.equal(runs(program), false);
      assert.equal(runs(program, { env: { NODE_OPTIONS: '--require "/with a space/register.js"' } }), false);
      assert.equal(runs(program, { execArgv: [...NAMED, '-e'] }), true);
      assert.equal(runs(program, { execArgv: [`--import=${REGISTER}`] }), true);
      assert.equal(runs(program, { env: { NODE_OPTIONS: '--max-old-space-size=100' } }), true, 'imported by the code');
    }
  });

  it('a syntax check does not', () => {
    for (const option of ['--check', '-c']) assert.equal(runs('/app/main.js', { execArgv: [option] }), false);
  });
});

describe('with register in NODE_OPTIONS', { concurrency: 2 }, () => {
  async function inherit(t: TestContext, command: string, files: Record<string, string>) {
    const cwd = directory(t, files);
    const child = await start('sh', ['-c', command], {
      cwd,
      env: {
        ...PROGRAM_ENV,
        PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}`,
        ...INHERITED,
        RDCP_SERVER_API_KEY: KEY,
        RDCP_PORT: String(await freePort()),
        OTEL_EXPORTER_PROMETHEUS_PORT: String(await freePort()),
      },
    });
    t.after(() => child.end('SIGKILL'));
    return { code: await child.ended, ...child.output };
  }

  /** Ends when its own process has been announced, or has failed to be. */
  const APP = `
    const { write } = process.stderr;
    process.stderr.write = function (text, ...rest) {
      if (/rdcp: /.test(text)) setTimeout(() => process.exit(), 200);
      return write.call(this, text, ...rest);
    };
    setTimeout(() => {}, 20_000);`;

  inFull('npm leaves the ports to the application that it starts', async (t) => {
    const { code, stderr } = await inherit(t, 'npm run start', {
      'package.json': JSON.stringify({ name: 'app', scripts: { prestart: 'node -e 0', start: 'node app.mjs' } }),
      'app.mjs': APP,
    });
    assert.equal(code, 0, stderr);
    assert.deepEqual(
      stderr
        .split('\n')
        .filter((line) => line.startsWith('rdcp: '))
        .map((line) => line.replaceAll(/\d{4,5}/g, 'PORT')),
      [
        'rdcp: remote control on http://127.0.0.1:PORT, metrics on http://localhost:PORT/metrics and debug lines to stderr',
      ],
    );
  });

  it('the rdcp command opens nothing and says nothing of it', async (t) => {
    const command = `node ${built('cli/main.js')} --version`;
    assert.deepEqual(await inherit(t, command, {}), { code: 0, stdout: '0.1.0\n', stderr: '' });
  });
});

it("takes what it needs from the variables that PM2's cluster mode unpacks later, and no others", () => {
  const pm2_env = JSON.stringify({
    name: 'shop',
    namespace: 'default',
    pm_id: 3,
    RDCP_PORT: '1',
    PATH: '/elsewhere',
    env: { RDCP_PORT: '9000', OTEL_SERVICE_NAME: 'shop', SECRET: 'x' },
  });
  const env: NodeJS.ProcessEnv = { pm2_env, PATH: '/bin' };
  takePm2Variables(env);
  assert.deepEqual(env, {
    pm2_env,
    PATH: '/bin',
    name: 'shop',
    namespace: 'default',
    pm_id: '3',
    RDCP_PORT: '9000',
    OTEL_SERVICE_NAME: 'shop',
  });
});

it('leaves a variable of that name alone that is not from PM2', () => {
  const env: NodeJS.ProcessEnv = { pm2_env: 'production' };
  takePm2Variables(env);
  assert.deepEqual(env, { pm2_env: 'production' });
});

it('names the application that PM2 runs, and not PM2', (t) => {
  const folder = newFolder(t);
  const program = (name: string) => {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'package.json'), JSON.stringify({ name }));
    return join(folder, name, 'main.js');
  };
  const [pm2, shop] = [program('pm2'), program('shop')];
  assert.equal(applicationPackage(pm2, { pm_exec_path: shop }), 'shop');
  assert.equal(applicationPackage(pm2, {}), undefined);
  // A process that the application has started.
  assert.equal(applicationPackage(program('report'), { pm_exec_path: shop }), 'report');
  assert.equal(applicationPackage(undefined, {}), undefined);
});
