import assert from 'node:assert/strict';
import { test } from 'node:test';
import { built } from '../support/built.ts';
import { run } from './application.ts';

/** Prints what differs from before the adoption, property by property, each time that the remote control is disabled. */
const APP = `
  import diagnostics from 'node:diagnostics_channel';
  import nodeModule, { createRequire } from 'node:module';
  import { Writable } from 'node:stream';
  import util from 'node:util';
  import { createRdcp } from '${built('index.js')}';
  const require = createRequire(import.meta.url);
  const [pino, pino8, winston, nest] = ['pino', 'pino-8', 'winston', '@nestjs/common'].map((name) => require(name));
  const debugs = ['debug', 'debug-2', 'debug-3'].map((name) => require(name));
  const { diag } = require('@opentelemetry/api');
  for (const name of ['express', 'fastify', 'mysql2', 'redis', 'ioredis']) require(name);
  const quiet = Object.fromEntries(['error', 'warn', 'info', 'debug', 'verbose'].map((level) => [level, () => {}]));
  diag.setLogger(quiet);
  const out = { write: () => true };
  const stream = new Writable({ write: (chunk, encoding, done) => done() });
  const roots = [pino({ name: 'p' }, out), pino8({ name: 'p8' }, out)];
  const mail = winston.createLogger({ defaultMeta: { service: 'w' }, transports: [new winston.transports.Stream({ stream })] });
  const contexts = [new nest.Logger('N'), new nest.ConsoleLogger('C', { logLevels: ['error'] })];
  const loggers = [...roots, ...roots.flatMap((root) => [root.child({ request: 1 }), root.child({ module: 'part' })]), mail, ...contexts];
  const instances = debugs.map((debug, at) => debug('d' + at));
  process.stdout.write = process.stderr.write = () => true;
  // What debug keeps of an instance since its first line, and Node.js of fetch, is there before.
  for (const [at, debug] of debugs.entries()) {
    debug.enable('d*');
    debug('d' + at)('first');
    debug.disable();
  }
  for (const log of instances) Object.assign(log, { diff: 0, prev: undefined, curr: 0 });
  globalThis.fetch;
  const say = () => {
    for (const logger of loggers) logger.debug('line');
    for (const root of roots) root.child({ request: 2 }).debug('line');
    for (const log of instances) log('line');
    util.debuglog('part')('line');
    diag.debug('line');
  };
  say();
  const chain = (object) => {
    const found = [];
    for (let at = object; at !== null && at !== Object.prototype && at !== Function.prototype; at = Object.getPrototypeOf(at)) found.push(at);
    return found;
  };
  const targets = new Set([
    util, nodeModule, nodeModule.prototype, pino, pino8, winston, winston.Container.prototype, nest.Logger, nest.Logger.prototype,
    nest.ConsoleLogger.prototype, ...debugs, ...instances, ...[...loggers, ...mail.transports].flatMap(chain),
    globalThis[Symbol.for('opentelemetry.js.api.1')], quiet, process.env,
  ]);
  const channels = ['http.server.request.start', 'http.client.request.created', 'undici:request:create', 'net.client.socket', 'child_process',
    'tracing:express.router.request:start', 'tracing:fastify.request.handler:start', 'tracing:mysql2:query:start',
    'tracing:node-redis:command:start', 'tracing:ioredis:command:start'];
  const state = () => {
    const found = new Map();
    for (const [at, target] of [...targets].entries()) {
      found.set(at + ' prototype', Object.getPrototypeOf(target)).set(at + ' extensible', Object.isExtensible(target));
      for (const key of Reflect.ownKeys(target)) {
        for (const [field, value] of Object.entries(Object.getOwnPropertyDescriptor(target, key))) {
          // Streams count what is written to them.
          if (/State$|^_events|^diff$|^prev$|^curr$/.test(String(key))) continue;
          found.set(at + ' ' + (target.name ?? target.constructor?.name) + ' ' + String(key) + ' ' + field, value);
        }
      }
      if (!Object.hasOwn(target, '_events')) continue;
      for (const [event, listeners] of Object.entries(target._events ?? {})) found.set(at + ' listeners of ' + event, [listeners].flat().length);
    }
    for (const channel of channels) found.set(channel, diagnostics.hasSubscribers(channel));
    return found;
  };
  const before = state();
  const differences = () => {
    const now = state();
    return [...new Set([...before.keys(), ...now.keys()])].filter((key) => !Object.is(before.get(key), now.get(key)));
  };
  const names = ['P', 'P8', 'PART', 'W', 'N', 'C', 'D0', 'D1', 'D2', 'D3', 'D4', 'OTEL_DIAG', 'HTTP_SERVER', 'UNDICI', 'NET', 'EXPRESS', 'REDIS'];
  let emitted = 0;
  const rdcp = createRdcp({
    server: false, adopt: true, announce: false, security: { apiKeys: [] }, emit: { to: () => void (emitted += 1) },
    categories: Object.fromEntries(names.map((name) => [name, { enabled: true }])),
  });
  const traffic = setInterval(say, 1);
  const some = () => new Promise((done) => setTimeout(done, 20));
  const results = [];
  for (const end of [() => rdcp.setEnabled(false), () => rdcp.setEnabled(false), () => rdcp.close()]) {
    rdcp.setEnabled(true);
    for (const from = emitted; emitted < from + 20; ) await some();
    const patched = differences().length;
    await end();
    results.push({ patched: patched > 30, left: differences() });
    await some();
  }
  clearInterval(traffic);
  delete process.stdout.write;
  process.stdout.write(JSON.stringify(results));
`;

test('under traffic everything is as it was, property by property, each time that it is disabled and when it is closed', async (t) => {
  const { stdout } = await run(t, APP, { preload: [] });
  const ended = { patched: true, left: [] };
  assert.deepEqual(JSON.parse(stdout), [ended, ended, ended]);
});
