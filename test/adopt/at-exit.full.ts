import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { built } from '../support/built.ts';
import { newFolder } from '../support/folder.ts';
import { PROGRAM_ENV, SERVICE_ENV } from '../support/program-env.ts';
import { folderOf } from './application.ts';

const LINES = 500;

/** Writes lines by each logger, and ends in the turn in which it wrote the last one. */
const APP = `
  const { Writable } = require('node:stream');
  const { Logger } = require('@nestjs/common');
  const debug = require('debug');
  const pino = require('pino');
  const winston = require('winston');
  const { LEVEL = 'info', END } = process.env;
  const sync = pino({ name: 'sync', level: LEVEL });
  const later = pino({ name: 'later', level: LEVEL }, pino.destination({ sync: false, minLength: 4096 }));
  const mail = winston.createLogger({ level: LEVEL, defaultMeta: { service: 'mail' }, transports: [new winston.transports.Console()] });
  Logger.overrideLogger(LEVEL === 'debug' ? ['log', 'debug'] : ['log']);
  const cats = new Logger('Cats');
  const sql = debug('sql');
  for (let line = 0; line < ${LINES}; line++) for (const logger of [sync, later, mail, cats]) logger.debug('of ' + (logger === cats ? 'cats' : ''));
  for (let line = 0; line < ${LINES}; line++) sql('of sql');
  if (END === 'exit') process.exit(0);
  if (END === 'throw') throw new Error('the end');`;

const CATEGORIES = ['SYNC', 'LATER', 'MAIL', 'CATS', 'SQL'];

/** Runs the program with its output in a file, which takes every line at once. Returns how many lines each logger wrote. */
function lines(t: TestContext, env: Record<string, string>, preload: readonly string[] = []): Record<string, number> {
  const categories = Object.fromEntries(CATEGORIES.map((name) => [name, { enabled: true }]));
  const cwd = folderOf(t, {
    'app.cjs': APP,
    'rdcp.json': { announce: false, controls: { budget: false }, categories },
  });
  const output = openSync(join(cwd, 'output'), 'w');
  const { status } = spawnSync(process.execPath, [...preload, 'app.cjs'], {
    cwd,
    timeout: 60_000,
    stdio: ['ignore', output, output],
    env: {
      ...SERVICE_ENV,
      NO_COLOR: '1',
      ...env,
    },
  });
  closeSync(output);
  const text = readFileSync(join(cwd, 'output'), 'utf8');
  assert.equal(status, env.END === 'throw' ? 1 : 0, text.slice(-2000));
  const of = (pattern: RegExp) => text.match(pattern)?.length ?? 0;
  return {
    sync: of(/"name":"sync"/g),
    later: of(/"name":"later"/g),
    mail: of(/"service":"mail"/g),
    cats: of(/of cats/g),
    sql: of(/of sql/g),
  };
}

for (const end of ['natural end', 'exit', 'throw']) {
  test(`at ${end} no line of a category that is on is lost which the logger itself would have written`, (t) => {
    const without = lines(t, { END: end, LEVEL: 'debug', DEBUG: 'sql' });
    assert.ok(
      Object.values(without).every((count) => count === LINES),
      JSON.stringify(without),
    );
    assert.deepEqual(lines(t, { END: end }, ['--import', built('register.js')]), without);
  });
}

/** Deletes its working directory before it starts the program. */
const GONE = `
  const { rmSync } = require('node:fs');
  rmSync(process.cwd(), { recursive: true });
  const { spawnSync } = require('node:child_process');
  const { status, stdout, stderr } = spawnSync(process.execPath, process.argv.slice(1));
  console.log(JSON.stringify({ status, stdout: String(stdout), stderr: String(stderr) }));`;

test('a service whose working directory was deleted runs, with one line about the endpoint', (t) => {
  const folder = folderOf(t, {
    'app.cjs': `const orders = require('pino')({ name: 'orders', base: {} }); orders.debug('debug'); orders.info('info'); setTimeout(() => {}, 1000);`,
  });
  const { stdout } = spawnSync(
    process.execPath,
    ['-e', GONE, '--', '--import', built('register.js'), join(folder, 'app.cjs')],
    {
      cwd: newFolder(t),
      encoding: 'utf8',
      timeout: 60_000,
      env: { ...PROGRAM_ENV, RDCP_SERVER_API_KEY: 'a'.repeat(43), RDCP_PORT: '0', OTEL_METRICS_EXPORTER: 'none' },
    },
  );
  const ended = JSON.parse(stdout);
  assert.equal(ended.status, 0, stdout);
  assert.match(ended.stdout, /^\{.*"msg":"info"\}\n$/);
  assert.match(ended.stderr, /^rdcp: the endpoint did not start: .*\n/);
  assert.doesNotMatch(ended.stderr, /\n\s+at /);
});
