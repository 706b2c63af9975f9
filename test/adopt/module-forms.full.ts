import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { built } from '../support/built.ts';
import { newFolder } from '../support/folder.ts';
import { installInto, run } from './application.ts';

const exec = promisify(execFile);

const ON = { categories: { P: { enabled: true }, W: { enabled: true }, D: { enabled: true } } };
const PRINT = `new (class extends require('node:stream').Writable { _write(chunk, encoding, done) { process.stdout.write(chunk); done(); } })()`;

/** Writes one debug line by each library. `pino`, `winston` and `debug` are what the form gives. */
const USE = `
  const out = ${PRINT};
  pino({ name: 'p', base: {}, timestamp: false }, process.stdout).debug('of pino');
  winston.createLogger({ defaultMeta: { service: 'w' }, transports: [new winston.transports.Stream({ stream: out })] }).debug('of winston');
  debug('d')('of debug');`;

const REQUIRE = `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);`;

/** As TypeScript emits it for `import pino from 'pino'`, `import * as winston from 'winston'` and so on, with `esModuleInterop`. */
const INTEROP = `
  const importDefault = (module) => (module && module.__esModule ? module : { default: module });
  const importStar = (module) => {
    if (module && module.__esModule) return module;
    const result = {};
    for (const key of Object.getOwnPropertyNames(module)) {
      if (key !== 'default') Object.defineProperty(result, key, { enumerable: true, get: () => module[key] });
    }
    return Object.defineProperty(result, 'default', { enumerable: true, value: module });
  };
  const [pino, winston, debug] = [importDefault(require('pino')).default, importStar(require('winston')), importDefault(require('debug')).default];`;

const FORMS: Readonly<Record<string, string>> = {
  'import of a namespace': `${REQUIRE}
    import * as P from 'pino'; import * as winston from 'winston'; import * as D from 'debug';
    const [pino, debug] = [P.default, D.default]; ${USE}`,
  'import of default by name': `${REQUIRE}
    import { default as pino } from 'pino'; import { default as winston } from 'winston'; import { default as debug } from 'debug'; ${USE}`,
  'import of names': `${REQUIRE}
    import { pino } from 'pino'; import { createLogger, transports } from 'winston'; import debug from 'debug';
    const winston = { createLogger, transports }; ${USE}`,
  'what TypeScript compiles with esModuleInterop': `${REQUIRE} ${INTEROP} ${USE}`,
  'dynamic import': `${REQUIRE}
    const { default: pino } = await import('pino'); const winston = await import('winston'); const { default: debug } = await import('debug'); ${USE}`,
};

for (const [form, app] of Object.entries(FORMS)) {
  test(`pino, winston and debug are adopted by ${form}`, async (t) => {
    assertLines(await run(t, app, { config: ON }));
  });
}

test('what esbuild has bundled is adopted by adopt()', async (t) => {
  const cwd = await installInto(newFolder(t), ['esbuild']);
  const app = `
    const { adopt, createRdcp } = require('opentelemetry-instrumentation-rdcp');
    const [pino, winston, debug] = [require('pino'), require('winston'), require('debug')];
    const rdcp = createRdcp({ server: false, announce: false, security: { apiKeys: [] }, categories: ${JSON.stringify(ON.categories)} });
    for (const library of [pino, winston, debug]) adopt(library);
    ${USE}
    rdcp.close();`;
  writeFileSync(join(cwd, 'app.cjs'), app);
  for (const name of ['pino', 'winston', 'debug'])
    symlinkSync(resolve('node_modules', name), join(cwd, 'node_modules', name));
  const external = '--external:opentelemetry-instrumentation-rdcp';
  const bundle = ['node_modules/esbuild/bin/esbuild', 'app.cjs', '--bundle', '--platform=node', '--outfile=bundle.cjs'];
  await exec(process.execPath, [...bundle, external, '--log-level=error'], { cwd });
  // The package itself is beside the bundle, and none of the libraries.
  rmSync(join(cwd, 'node_modules'), { recursive: true });
  const file = built('cjs/index.js').replace('file://', '');
  const code = `const { Module } = require('node:module'); const resolve = Module._resolveFilename;
    Module._resolveFilename = (name, ...rest) => name === 'opentelemetry-instrumentation-rdcp' ? ${JSON.stringify(file)} : resolve(name, ...rest);
    require('./bundle.cjs');`;
  writeFileSync(join(cwd, 'start.cjs'), code);
  const { stdout, stderr } = await exec(process.execPath, ['start.cjs'], { cwd });
  assertLines({
    stdout,
    stderr: stderr.split('\n').flatMap((line) => (line === '' ? [] : [line.replace(/^\S+ /, '')])),
  });
});

test('a transport of pino in a thread gets what is let through, where its target takes it', async (t) => {
  const app = `
    import pino from 'pino';
    const target = 'pino/file';
    const targets = [{ target, level: 'trace', options: { destination: 1 } }, { target, options: { destination: 2 } }];
    const logger = pino({ name: 'p', base: {}, timestamp: false }, pino.transport({ targets }));
    logger.debug('of pino');
    logger.info('info');`;
  const { stdout, stderr } = await run(t, app, { config: ON });
  assert.match(stdout, /"msg":"of pino".*\n.*"msg":"info"/);
  assert.deepEqual([stderr.length, /"msg":"info"/.test(stderr[0] ?? '')], [1, true], stderr.join('\n'));
});

function assertLines({ stdout, stderr }: { readonly stdout: string; readonly stderr: readonly string[] }): void {
  const messages = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .map(({ msg, message }) => msg ?? message);
  assert.deepEqual(messages.sort(), ['of pino', 'of winston'], stdout + stderr.join('\n'));
  assert.deepEqual(stderr, ['DEBUG D of debug {"namespace":"d"}']);
}
