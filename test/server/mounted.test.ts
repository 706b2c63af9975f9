import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import express from 'express';
import Koa from 'koa';
import { PATHS } from '../../src/protocol/constants.ts';
import type { ControlResponse } from '../../src/protocol/messages.ts';
import type { RequestHandler } from '../../src/server/app.ts';
import { assembleApp, send, type TestApp, type TestRequest } from '../support/server.ts';

async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  t.after(() => server.closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const ENABLE: TestRequest = { method: 'POST', key: 'operator', body: { action: 'enable', categories: 'HTTP' } };

/** The same application three times: it says hello, and has the endpoint in front. */
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
  Koa: (rdcp) => {
    const app = new Koa();
    app.use((ctx, next) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      ctx.res.once('close', resolve);
      ctx.respond = false;
      rdcp(ctx.req, ctx.res, () => {
        ctx.respond = true;
        next().then(resolve, reject);
      });
      return promise;
    });
    app.use((ctx) => {
      ctx.set('X-App', 'own');
      ctx.body = 'hello';
    });
    return app.callback();
  },
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

test('a body that was read and thrown away before us is a fault of the server, not a hanging request', async (t) => {
  const app = await assembleApp(t, { config: { server: false } });
  const url = await serve(t, async (req, res) => {
    for await (const _ of req);
    app.handler(req, res);
  });
  const { status, body } = await send(url + PATHS.control, ENABLE);
  assert.equal(status, 500);
  assert.equal(body.error.code, 'RDCP_SERVER_ERROR');
});

test('a forbidden field is refused also in a body that the application parsed', async (t) => {
  const app = await assembleApp(t, { config: { server: false } });
  const url = await serve(t, express().use(express.json()).use(app.handler));
  const body = '{"action":"enable","categories":"HTTP","__proto__":{"polluted":1}}';
  assert.equal((await send(url + PATHS.control, { ...ENABLE, body })).status, 400);
});
