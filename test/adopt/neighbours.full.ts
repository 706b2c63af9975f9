// Every night: installs three agents of vendors, each of which takes a second to start.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { built } from '../support/built.ts';
import { newFolder } from '../support/folder.ts';
import { installInto, run } from './application.ts';

/** Agents that change the loggers of a service, or the way in which it loads modules, by the arguments that start them. */
const NEIGHBOURS: Readonly<Record<string, readonly string[]>> = {
  'dd-trace': ['dd-trace/initialize.mjs'],
  'elastic-apm-node': ['elastic-apm-node/start.js', 'elastic.mjs'],
  newrelic: ['newrelic/index.js', 'newrelic/esm-loader.mjs'],
};

const ENV = {
  DD_INSTRUMENTATION_TELEMETRY_ENABLED: 'false',
  DD_TRACE_STARTUP_LOGS: 'false',
  ELASTIC_APM_LOG_LEVEL: 'off',
  ELASTIC_APM_SERVER_URL: 'http://127.0.0.1:1',
  NEW_RELIC_APP_NAME: 'neighbour',
  NEW_RELIC_LICENSE_KEY: 'a'.repeat(40),
  NEW_RELIC_LOG_ENABLED: 'false',
};

const APP = `
  import { Writable } from 'node:stream';
  import debug from 'debug';
  import pino from 'pino';
  import winston from 'winston';
  const out = new Writable({ write: (chunk, encoding, done) => process.stdout.write(chunk, () => done()) });
  const orders = pino({ name: 'orders', base: {}, timestamp: false }, process.stdout);
  const mail = winston.createLogger({ defaultMeta: { service: 'mail' }, transports: [new winston.transports.Stream({ stream: out })] });
  const sql = debug('sql');
  for (const logger of [orders, mail]) {
    logger.debug('debug');
    logger.info('info');
  }
  sql('debug');
  // An agent that tries to reach its backend keeps the process.
  setTimeout(() => process.exit(), 500);`;

const ON = { categories: { ORDERS: { enabled: true }, MAIL: { enabled: true }, SQL: { enabled: true } } };

/** Loggers that are no source of ours, handed over. */
const OTHERS = `
  import { createRequire } from 'node:module';
  import { adopt } from '${built('index.js')}';
  const require = createRequire(process.env.NEIGHBOURS);
  const [bunyan, log4js, { createConsola }] = ['bunyan', 'log4js', 'consola'].map((name) => require(name));
  log4js.configure({
    appenders: { out: { type: 'stdout', layout: { type: 'pattern', pattern: 'log4js %p %m' } } },
    categories: { default: { appenders: ['out'], level: 'info' } },
  });
  const reporters = [{ log: ({ type, args }) => console.log('consola', type, args.join()) }];
  const loggers = [bunyan.createLogger({ name: 'bun' }), log4js.getLogger('l4'), createConsola({ level: 3, reporters })];
  const options = [{}, { category: 'L4' }, { category: 'CON', level: 4 }];
  for (const [at, logger] of loggers.entries()) adopt(logger, options[at]);
  for (const logger of loggers) {
    logger.debug('debug');
    logger.info('info');
  }`;

describe('beside what else a service has', () => {
  const cwd = newFolder();

  before(async () => {
    const agents = ['dd-trace@6', 'elastic-apm-node@4', 'newrelic@14'];
    await installInto(cwd, ['--omit=optional', ...agents, 'bunyan@1', 'log4js@6', 'consola@3']);
    writeFileSync(
      join(cwd, 'node_modules/elastic.mjs'),
      `import { register } from 'node:module'; register('elastic-apm-node/loader.mjs', import.meta.url);`,
    );
  });

  for (const [name, files] of Object.entries(NEIGHBOURS)) {
    test(`${name}: the output is its own while all is off, and each line that is on comes out once`, async (t) => {
      const agent = files.map((file) => join(cwd, 'node_modules', file));
      const register = built('register.js');
      const written = async (preload: readonly string[], config: object = {}) => {
        const { stdout, stderr } = await run(t, APP, { preload, config, env: ENV });
        const lines = stdout
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line));
        return {
          lines: lines.map(({ name = 'mail', level, msg, message }) => `${name} ${level} ${msg ?? message}`).sort(),
          debugs: stderr
            .filter((line) => !/warning/i.test(line))
            .filter((line) => line.startsWith('DEBUG') || line.startsWith('rdcp')),
        };
      };
      const off = { lines: ['mail info info', 'orders 30 info'], debugs: [] };
      const on = {
        lines: ['mail debug debug', 'mail info info', 'orders 20 debug', 'orders 30 info'],
        debugs: ['DEBUG SQL debug {"namespace":"sql"}'],
      };
      assert.deepEqual(await written(agent), off);
      for (const preload of [
        [register, ...agent],
        [...agent, register],
      ]) {
        assert.deepEqual(await written(preload), off);
        assert.deepEqual(await written(preload, ON), on);
      }
    });
  }

  test('bunyan, log4js and consola are switched by adopt()', async (t) => {
    const written = async (config: object) => {
      const env = { NEIGHBOURS: join(cwd, 'index.js') };
      const { stdout } = await run(t, OTHERS, { config, env });
      return stdout
        .trim()
        .split('\n')
        .map((line) => (line.startsWith('{') ? `bunyan ${JSON.parse(line).msg}` : line))
        .sort();
    };
    assert.deepEqual(await written({}), ['bunyan info', 'consola info info', 'log4js INFO info']);
    const categories = { BUN: { enabled: true }, L4: { enabled: true }, CON: { enabled: true } };
    assert.deepEqual(await written({ categories }), [
      ...['bunyan debug', 'bunyan info', 'consola debug debug', 'consola info info'],
      ...['log4js DEBUG debug', 'log4js INFO info'],
    ]);
  });
});
