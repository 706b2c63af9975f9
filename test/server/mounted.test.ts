import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import express from 'express';
import Fastify from 'fastify';
import Koa from 'koa';
import { koaBody } from 'koa-body';
import { hashApiKey } from '../../src/access/api-key.ts';
import { createRdcp } from '../../src/assembly/rdcp.ts';
import type { RequestHandler } from '../../src/endpoint/app.ts';
import type { RdcpConfig } from '../../src/options/options.ts';
import { HEADERS, MAX_BODY_BYTES, PATHS } from '../../src/wire/constants.ts';
import type { ControlResponse } from '../../src/wire/messages.ts';
import type { OAuthErrorResponse } from '../../src/wire/oauth-messages.ts';
import { newFolder } from '../support/folder.ts';
import { portOf } from '../support/listening.ts';
import { assembleApp, KEYS, send, type TestApp, type TestRequest } from '../support/server.ts';
import { ACCESS_TOKEN, askToken, TOKEN_EXCHANGE } from './tokens.ts';

async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  return `http://127.0.0.1:${await portOf(t, server)}`;
}

const ENABLE: TestRequest = { method: 'POST', key: 'operator', body: { action: 'enable', categories: 'HTTP' } };

/** As docs/services.md has it for Koa. */
function mountedInKoa(rdcp: RequestHandler): Koa.Middleware {
  return (ctx, next) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    ctx.res.once('close', resolve);
    ctx.respond = false;
    rdcp(ctx.req, ctx.res, () => {
      ctx.respond = true;
      next().then(resolve, reject);
    });
    return promise;
  };
}

const koa = (...middleware: Koa.Middleware[]) => {
  const app = new Koa();
  for (const each of middleware) app.use(each);
  app.use((ctx) => {
    ctx.set('X-App', 'own');
    ctx.body = 'hello';
  });
  return app.callback();
};

/** As docs/services.md has it for Fastify. */
function fastify(rdcp: RequestHandler): RequestListener {
  const app = Fastify();
  app.addHook('onRequest', (request, reply, done) => rdcp(request.raw, reply.raw, done));
  app.get('/*', (_request, reply) => reply.header('X-App', 'own').send('hello'));
  return (req, res) => void app.ready().then(() => app.routing(req, res));
}

/** The same application again and again: it says hello, and has the endpoint in front. */
const APPLICATIONS: Readonly<Record<string, (rdcp: RequestHandler) => RequestListener>> = {
  'plain node:http': (rdcp) => (req, res) => rdcp(req, res, () => res.setHeader('X-App', 'own').end('hello')),
  Express: (rdcp) =>
    express()
      .use(rdcp)
      .use((_req, res) => void res.set('X-App', 'own').send('hello')),
  'Express behind its own body parser': (rdcp) =>
    express()
      .use(express.json())
      .use(rdcp)
      .use((_req, res) => void res.set('X-App', 'own').send('hello')),
  Koa: (rdcp) => koa(mountedInKoa(rdcp)),
  'Koa behind a body parser that leaves its result with Node’s request': (rdcp) =>
    koa(koaBody({ patchNode: true }), mountedInKoa(rdcp)),
  Fastify: fastify,
  'middleware such as Fastify takes through middie': (rdcp) => (req, res) =>
    rdcp(Object.assign(req, { originalUrl: req.url }), res, () => void res.setHeader('X-App', 'own').end('hello')),
};

for (const [name, application] of Object.entries(APPLICATIONS)) {
  test(`mounted in ${name}: our paths are answered, in the envelope where they are refused`, async (t) => {
    const app = await assembleApp(t, { config: { server: false } });
    const url = await serve(t, application(app.handler));
    const { status, body } = await send<ControlResponse>(url + PATHS.control, ENABLE);
    assert.equal(status, 200);
    assert.equal(body.changes[0]?.newState, true);
    for (const [path, request, expected] of [
      [PATHS.status, { key: 'status' }, 200],
      [PATHS.wellKnown, {}, 200],
      [PATHS.status, {}, 401],
      ['/rdcp/v1/nothing', {}, 404],
      ['/rdcp/', {}, 404],
      [PATHS.status, { method: 'DELETE' }, 405],
      [PATHS.control, { ...ENABLE, body: { action: 'explode' } }, 400],
      [PATHS.control, { ...ENABLE, body: '{}', headers: { 'Content-Type': 'text/plain' } }, 415],
    ] as const) {
      const answer = await send(url + path, request as TestRequest);
      assert.equal(answer.status, expected, path);
      assert.equal(answer.headers.get('x-rdcp-protocol'), 'rdcp/1.0');
      assert.equal(answer.headers.get('x-app'), null);
      if (expected !== 200) assert.match(answer.body.error.code, /^RDCP_/);
    }
  });

  test(`mounted in ${name}: every other path is the application's, untouched and without a credential`, async (t) => {
    const app = await assembleApp(t, { config: { server: false, limits: { anonymousPerMinute: 1 } } });
    const url = await serve(t, application(app.handler));
    for (const path of [
      '/',
      '/rdcp',
      '/rdcpx/v1/status',
      '/.well-known/other',
      '/.well-known/rdcp2',
      '/api?x=/rdcp/',
    ]) {
      const response = await fetch(url + path, {
        headers: { Origin: 'https://elsewhere.test', 'X-RDCP-API-Key': 'x' },
      });
      assert.equal(await response.text(), 'hello', path);
      assert.equal(response.headers.get('x-app'), 'own');
      const ours = [...response.headers.keys()].filter((header) => /^x-rdcp|^ratelimit|^cache-control$/.test(header));
      assert.deepEqual(ours, [], path);
    }
    assert.deepEqual(app.authFailures, []);
  });
}

test('as the only handler of a node:http server it answers every path, ours or not', async (t) => {
  const app = await assembleApp(t, { config: { server: false } });
  const url = await serve(t, app.handler);
  const { status, body } = await send(`${url}/other`);
  assert.equal(status, 404);
  assert.equal(body.error.code, 'RDCP_NOT_FOUND');
});

async function mounted(t: TestContext): Promise<{ app: TestApp; url: string }> {
  const app = await assembleApp(t, { config: { server: false } });
  return { app, url: await serve(t, app.handler) };
}

test('mounted, the hosts are the application’s matter, but other origins are still refused', async (t) => {
  const { url } = await mounted(t);
  const { port } = new URL(url);
  const own = await send(url + PATHS.wellKnown, { headers: { Origin: `http://127.0.0.1:${port}` } });
  assert.equal(own.status, 200);
  const other = await send(url + PATHS.wellKnown, { headers: { Origin: 'https://evil.test' } });
  assert.equal(other.status, 403);
});

test('a body that another parser has kept as text or bytes is parsed here', async (t) => {
  const app = await assembleApp(t, { config: { server: false } });
  for (const parser of [express.text({ type: '*/*' }), express.raw({ type: '*/*' })]) {
    const url = await serve(t, express().use(parser).use(app.handler));
    assert.equal((await send(url + PATHS.control, ENABLE)).status, 200);
    assert.equal((await send(url + PATHS.control, { ...ENABLE, body: '{' })).status, 400);
  }
});

test('a body that was read before us and is nowhere is a fault of the server, reported with a way to mend it', async (t) => {
  const app = await assembleApp(t, { config: { server: false } });
  const applications: RequestListener[] = [
    async (req, res) => {
      for await (const _ of req);
      app.handler(req, res);
    },
    koa(koaBody(), mountedInKoa(app.handler)),
  ];
  for (const application of applications) {
    const { status, body } = await send((await serve(t, application)) + PATHS.control, ENABLE);
    assert.equal(status, 500);
    assert.equal(body.error.code, 'RDCP_SERVER_ERROR');
    assert.match(body.error.message, /was read before/);
    const [report] = app.reports.splice(0) as [Error];
    assert.match((report.cause as Error).message, /before the body parser.*req\.body.*patchNode/);
  }
});

test('a body that the application parsed is as large as one may be, and no larger', async (t) => {
  const app = await assembleApp(t, { config: { server: false } });
  const limit = '1mb';
  for (const parser of [
    express.json({ limit }),
    express.text({ type: '*/*', limit }),
    express.raw({ type: '*/*', limit }),
  ]) {
    const url = await serve(t, express().use(parser).use(app.handler));
    const control = (size: number, chunked = false) => {
      const text = JSON.stringify({ ...(ENABLE.body as object), options: { reason: 'x' } });
      // White space outside is nothing that a parser keeps, so it counts only where the length is declared.
      const padded = chunked ? text.replace('"x"', `"${'x'.repeat(size)}"`) : text.padEnd(size);
      const body = chunked ? new Blob([padded]).stream() : padded;
      return fetch(url + PATHS.control, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', [HEADERS.apiKey]: KEYS.operator },
        body,
        ...(chunked && { duplex: 'half' }),
      } as RequestInit);
    };
    assert.equal((await control(MAX_BODY_BYTES)).status, 200);
    assert.equal((await control(MAX_BODY_BYTES + 1)).status, 413);
    assert.equal((await control(500, true)).status, 200);
    assert.equal((await control(MAX_BODY_BYTES, true)).status, 413);
  }
});

const EXCHANGE = { grant_type: TOKEN_EXCHANGE, subject_token: KEYS.operator, subject_token_type: ACCESS_TOKEN };

test('a form that the application parsed is read too', async (t) => {
  const secret = 'the secret that tokens are signed with';
  const security = { level: 'standard', tokens: { issuer: 'https://own.example/', audience: 'rdcp', secret } } as const;
  const app = await assembleApp(t, { config: { server: false, security } });
  const applications = [
    express()
      .use(express.urlencoded({ extended: true }))
      .use(app.handler),
    koa(koaBody({ patchNode: true }), mountedInKoa(app.handler)),
  ];
  for (const application of applications) {
    const url = await serve(t, application);
    const request: Parameters<typeof askToken>[0]['request'] = (path, sent) => send(url + path, sent);
    assert.equal((await askToken({ request }, EXCHANGE)).status, 200);
    const twice = [...Object.entries(EXCHANGE), ['scope', 'status'], ['scope', 'control']] as const;
    const { status, body } = await askToken<OAuthErrorResponse>({ request }, twice);
    assert.deepEqual([status, body.error_description], [400, 'scope was sent more than once']);
    assert.equal((await askToken({ request }, { ...EXCHANGE, 'scope[a]': 'status' })).status, 400);
  }
});

test('under a path of the application’s own the paths of the protocol begin below it', async (t) => {
  const app = await assembleApp(t, { config: { server: false } });
  const url = await serve(
    t,
    express()
      .use('/internal', app.handler)
      .use((_req, res) => void res.send('hello')),
  );
  assert.equal((await send(`${url}/internal${PATHS.status}`, { key: 'status' })).status, 200);
  assert.equal((await send(`${url}/internal${PATHS.status}`)).status, 401);
  assert.equal(await (await fetch(url + PATHS.status)).text(), 'hello');
});

test('a forbidden field is refused also in a body that the application parsed', async (t) => {
  const app = await assembleApp(t, { config: { server: false } });
  const url = await serve(t, express().use(express.json()).use(app.handler));
  const body = '{"action":"enable","categories":"HTTP","__proto__":{"polluted":1}}';
  assert.equal((await send(url + PATHS.control, { ...ENABLE, body })).status, 400);
});

const KEY = 'k'.repeat(40);

const BEYOND = Object.values(networkInterfaces())
  .flatMap((each) => each ?? [])
  .find(({ internal, family }) => !internal && family === 'IPv4')?.address;

/** Mounted in a server of the application that listens everywhere. */
async function mountedEverywhere(t: TestContext, config: RdcpConfig): Promise<number> {
  const rdcp = createRdcp({ server: false, ...config });
  t.after(() => rdcp.close());
  const handle = rdcp.callback();
  const server = createServer((req, res) => handle(req, res, () => void res.end('the application')));
  return await portOf(t, server, '0.0.0.0');
}

function inFolder(t: TestContext): string {
  const before = process.cwd();
  const folder = newFolder(t);
  process.chdir(folder);
  t.after(() => process.chdir(before));
  return folder;
}

test('mounted without a credential, only loopback is served; the application itself is untouched', async (t) => {
  assert.ok(BEYOND !== undefined, 'this machine has an address beside loopback');
  const folder = inFolder(t);
  const port = await mountedEverywhere(t, {});
  const key = readFileSync(join(folder, '.rdcp/dev-key'), 'utf8').trim();
  const headers = { 'X-RDCP-API-Key': key };
  assert.equal((await send(`http://127.0.0.1:${port}${PATHS.status}`, { headers })).status, 200);

  const beyond = `http://${BEYOND}:${port}`;
  for (const path of [PATHS.status, PATHS.health, PATHS.wellKnown, PATHS.control]) {
    for (const sent of [
      headers,
      { ...headers, 'X-Forwarded-For': '127.0.0.1', Forwarded: 'for=127.0.0.1', Host: 'localhost' },
    ]) {
      const { status, body } = await send(beyond + path, { headers: sent });
      assert.equal(status, 403);
      assert.equal(body.error.code, 'RDCP_FORBIDDEN');
      assert.match(body.error.message, /loopback/);
      assert.deepEqual(body.error.details, { option: 'security.apiKeys' });
    }
  }
  assert.equal(await (await fetch(beyond)).text(), 'the application');
});

test('mounted with a credential, every address is served', async (t) => {
  const apiKeys = [{ id: 'key', hash: hashApiKey(KEY), clientId: 'ops', scopes: ['admin' as const] }];
  const port = await mountedEverywhere(t, { security: { apiKeys } });
  const { status } = await send(`http://${BEYOND}:${port}${PATHS.status}`, { headers: { 'X-RDCP-API-Key': KEY } });
  assert.equal(status, 200);
});
