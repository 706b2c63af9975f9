import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { type IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createRdcp } from '../src/assembly/rdcp.ts';
import { built } from './support/built.ts';
import { newFolder } from './support/folder.ts';
import { PROGRAM_ENV } from './support/program-env.ts';
import { inFull } from './support/tiers.ts';

const KEY = 'a-secret-of-thirty-two-characters';

/**
 * Prepares a process whose code can ask which of the packages that take long to load it has loaded: `heavy()`, and which
 * files of OpenTelemetry are there in two copies: `doubled()`.
 */
const HEAVY = `
  import { registerHooks } from 'node:module';
  const loaded = new Set();
  const files = new Map();
  registerHooks({
    load(url, context, next) {
      const from = url.lastIndexOf('/@opentelemetry/');
      const file = url.slice(from);
      if (from !== -1) files.set(file, (files.get(file) ?? new Set()).add(url));
      const name = /\\/node_modules\\/((?:@koa\\/)?[^/]+)\\//.exec(url)?.[1];
      if (['koa', '@koa/router', 'koa-body', 'formidable', 'jose', 'redis', 'pg'].includes(name)) loaded.add(name);
      return next(url, context);
    },
  });
  globalThis.heavy = () => [...loaded].sort().join(' ');
  globalThis.doubled = () => [...files].filter(([, { size }]) => size > 1).map(([file]) => file).join(' ');`;

/** Runs a program after {@link HEAVY}, in a directory of its own. */
async function run(t: TestContext, program: string, preload: readonly string[] = []) {
  const cwd = newFolder(t);
  writeFileSync(join(cwd, 'heavy.mjs'), HEAVY);
  writeFileSync(join(cwd, 'app.mjs'), program);
  const imports = ['./heavy.mjs', ...preload].flatMap((file) => ['--import', file]);
  const env = {
    ...PROGRAM_ENV,
    RDCP_SERVER_API_KEY: KEY,
    RDCP_PORT: '0',
    OTEL_EXPORTER_PROMETHEUS_PORT: '0',
  };
  return new Promise<{ stdout: string; stderr: string }>((resolve, reject) => {
    execFile(process.execPath, [...imports, 'app.mjs'], { cwd, env }, (error, stdout, stderr) => {
      if (error === null) resolve({ stdout, stderr });
      else reject(new Error(stderr, { cause: error }));
    });
  });
}

test('Koa is loaded to listen, koa-body with the first body, and jose without tokens never', async (t) => {
  const { stdout } = await run(
    t,
    `
    import { createHash } from 'node:crypto';
    const { createRdcp } = await import('${built('index.js')}');
    const hash = 'sha256:' + createHash('sha256').update('${KEY}').digest('hex');
    const apiKeys = [{ id: 'k', hash, clientId: 'c', scopes: ['status', 'control'] }];
    const rdcp = createRdcp({ server: { port: 0 }, security: { apiKeys }, categories: { A: {} } });
    console.log('created:', heavy());
    const { url } = await rdcp.listen();
    const headers = { 'X-RDCP-API-Key': '${KEY}', 'Content-Type': 'application/json' };
    const read = await fetch(url + '/rdcp/v1/status', { headers });
    console.log(read.status + ':', heavy());
    const body = JSON.stringify({ action: 'enable', categories: 'A' });
    const switched = await fetch(url + '/rdcp/v1/control', { method: 'POST', headers, body });
    console.log(switched.status + ':', heavy());
    await rdcp.close();`,
  );
  assert.deepEqual(stdout.split('\n'), [
    'created: ',
    '200: @koa/router koa',
    '200: @koa/router formidable koa koa-body',
    '',
  ]);
});

test('under register the first statement comes before the server half, which comes without being asked for', async (t) => {
  const app = `
    console.log('first:', heavy());
    const waiting = setInterval(() => {
      if (heavy() === '') return;
      console.log('later:', heavy());
      clearInterval(waiting);
    }, 10);`;
  const { stdout } = await run(t, app, [built('register.js')]);
  assert.match(stdout, /^first: \nlater: .*koa\n$/);
});

inFull('under register a category that is on by default loses none of its first lines', async (t) => {
  const app = `
    import { category } from '${built('api.js')}';
    category('PAYMENTS', { enabled: true }).debug('at once');`;
  const { stderr } = await run(t, app, [built('register.js')]);
  assert.match(stderr, / DEBUG PAYMENTS at once/);
});

test('the handler works at once: requests that are ours wait for the routes, others go on as they come', async (t) => {
  const rdcp = createRdcp({ server: false, security: { apiKeys: [] } });
  t.after(() => rdcp.close());
  const handle = rdcp.callback();
  const request = (url: string) => ({ url, method: 'GET', headers: {}, socket: {} }) as unknown as IncomingMessage;
  const passed: string[] = [];
  for (const url of ['/', '/orders?x=/rdcp/', '/rdcp']) {
    const req = request(url);
    handle(req, new ServerResponse(req), () => passed.push(url));
  }
  assert.deepEqual(passed, ['/', '/orders?x=/rdcp/', '/rdcp']);
});

inFull('a request that comes before the routes are loaded is answered, its body included', async (t) => {
  const { stdout } = await run(
    t,
    `
    import { createServer } from 'node:http';
    import { createHash } from 'node:crypto';
    import { once } from 'node:events';
    const { createRdcp } = await import('${built('index.js')}');
    const hash = 'sha256:' + createHash('sha256').update('${KEY}').digest('hex');
    const apiKeys = [{ id: 'k', hash, clientId: 'c', scopes: ['control'] }];
    const rdcp = createRdcp({ server: false, security: { apiKeys }, categories: { A: {} } });
    const server = createServer((req, res) => {
      console.log(req.url, heavy());
      rdcp.callback()(req, res, () => res.end('the application'));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = 'http://127.0.0.1:' + server.address().port;
    const headers = { 'X-RDCP-API-Key': '${KEY}', 'Content-Type': 'application/json' };
    const body = JSON.stringify({ action: 'enable', categories: 'A' });
    const answer = await fetch(url + '/rdcp/v1/control', { method: 'POST', headers, body });
    console.log(answer.status, (await answer.json()).changes[0].newState);
    server.close();
    server.closeAllConnections();
    await rdcp.close();`,
  );
  assert.equal(stdout, '/rdcp/v1/control \n200 true\n');
});

test('under register no package of OpenTelemetry is loaded in two versions', async (t) => {
  const { stdout } = await run(t, `console.log('twice:', doubled());`, [built('register.js')]);
  assert.equal(stdout, 'twice: \n');
});
