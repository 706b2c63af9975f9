import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { built } from '../support/built.ts';
import { newFolder } from '../support/folder.ts';
import { SERVICE_ENV } from '../support/program-env.ts';
import { installInto } from './application.ts';

/** Loggers that frameworks make with pino. Each writes a line of debug and one of info. */
const APP = `
  import { once } from 'node:events';
  import { createServer } from 'node:http';
  import fastify from 'fastify';
  import pino from 'pino';
  import pinoHttp from 'pino-http';
  const say = (log, text) => { log.debug(text + ' debug'); log.info(text + ' info'); };
  const gateway = fastify({ logger: { name: 'gateway' }, disableRequestLogging: true });
  gateway.get('/', (request) => { say(request.log, 'request.log'); return 'ok'; });
  gateway.get('/quiet', { logLevel: 'warn' }, (request) => { say(request.log, 'quiet'); return 'ok'; });
  say(gateway.log, 'app.log');
  for (const path of ['/', '/quiet']) await gateway.inject(path);
  const orders = fastify({ loggerInstance: pino({ name: 'orders' }), disableRequestLogging: true });
  orders.get('/', (request) => { say(request.log, 'instance'); return 'ok'; });
  await orders.inject('/');
  const middleware = pinoHttp({ name: 'web', autoLogging: false });
  const server = createServer((req, res) => { middleware(req, res); say(req.log, 'pino-http'); res.end(); }).listen(0);
  await once(server, 'listening');
  await (await fetch('http://127.0.0.1:' + server.address().port)).text();
  server.close();
`;
const NAMES = ['GATEWAY', 'ORDERS', 'WEB'];

test("Fastify's own logger and that of pino-http are switched as any logger of pino", async (t) => {
  const cwd = await installInto(newFolder(t), ['pino-http@11', 'pino@10', 'fastify@5'], { 'app.mjs': APP });
  const linesWith = async (enabled: boolean) => {
    const categories = Object.fromEntries(NAMES.map((name) => [name, { enabled }]));
    writeFileSync(join(cwd, 'rdcp.json'), JSON.stringify({ announce: false, categories }));
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', built('register.js'), 'app.mjs'], {
      cwd,
      env: SERVICE_ENV,
    });
    // Each logger has a destination of its own, which writes when it likes.
    return stdout
      .split('\n')
      .flatMap((line) => /"msg":"([^"]+)"/.exec(line)?.[1] ?? [])
      .sort();
  };
  const loggers = ['app.log', 'request.log', 'instance', 'pino-http'];
  const infos = loggers.map((name) => `${name} info`);
  assert.deepEqual(await linesWith(false), infos.sort());
  // Also from a route for which Fastify sets a level above info.
  const all = [...loggers, 'quiet'].flatMap((name) => [`${name} info`, `${name} debug`]);
  assert.deepEqual(await linesWith(true), all.sort());
});
