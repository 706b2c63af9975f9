import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startRedis, whyNoRedis } from '../store/redis-server.ts';
import { assertSwitched, folderOf, serveApplication } from './application.ts';

/** A service of published packages without a line of ours. Each path of its server uses one of them. */
const SERVICE = `
  import { once } from 'node:events';
  import util from 'node:util';
  import { context, propagation } from '@opentelemetry/api';
  import Router from '@koa/router';
  import debug from 'debug';
  import express from 'express';
  import fastify from 'fastify';
  import Koa from 'koa';
  import mysql from 'mysql2';
  import pino from 'pino';
  import { createClient } from 'redis';
  import winston from 'winston';
  /** Runs what follows in the tenant that the request names, as middleware of each framework. */
  const inTenantOf = ({ headers }, next) => {
    const { 'x-tenant': value } = headers;
    if (value === undefined) return next();
    return context.with(propagation.setBaggage(context.active(), propagation.createBaggage({ tenant: { value } })), next);
  };
  const orders = pino({ name: 'orders' });
  const mail = winston.createLogger({ defaultMeta: { service: 'mail' }, transports: [new winston.transports.Console()] });
  const sql = debug('shop:sql');
  const section = util.debuglog('shop-cache');
  const port = (server) => server.address().port;
  const listening = async (server) => (await once(server, 'listening'), port(server));
  const redis = createClient({ url: process.env.REDIS });
  await redis.connect();
  const koa = new Koa().use((ctx, next) => inTenantOf(ctx.req, next)).use(new Router().get('/', (context) => { context.body = 'koa'; }).routes());
  const koaPort = await listening(koa.listen(0, '127.0.0.1'));
  const quick = fastify()
    .addHook('onRequest', (request, reply, done) => inTenantOf(request.raw, done))
    .get('/', () => 'fastify');
  await quick.listen({ port: 0, host: '127.0.0.1' });
  const get = (at, headers) => fetch('http://127.0.0.1:' + at + '/', { headers }).then((response) => response.text());
  const query = () => new Promise((done) => {
    const connection = mysql.createConnection({ host: '127.0.0.1', port: 1 });
    connection.on('error', done);
    connection.query('SELECT 1', done);
  });
  const uses = {
    pino: () => orders.debug({ id: 7 }, 'line of pino'),
    winston: () => mail.debug('line of winston'),
    debug: () => sql('line of debug'),
    debuglog: () => section('line of debuglog'),
    koa: (headers) => get(koaPort, headers),
    fastify: (headers) => get(port(quick.server), headers),
    mysql: query,
    redis: () => redis.get('key'),
  };
  const app = express();
  app.use((req, res, next) => inTenantOf(req, next));
  app.get('/:use', async (req, res) => {
    const { 'x-tenant': tenant } = req.headers;
    await uses[req.params.use]?.(tenant && { 'x-tenant': tenant });
    res.send('done');
  });
  console.log('serves ' + await listening(app.listen(0, '127.0.0.1')));`;

/** They write before the service has said whose the request is. */
const OF_NO_TENANT: ReadonlySet<string> = new Set(['ROUTER', 'NET']);

/** Categories, with the path that makes lines of each, and what a line has. */
const CATEGORIES: Readonly<Record<string, readonly [path: string, line: RegExp]>> = {
  ORDERS: ['pino', /"msg":"line of pino"/],
  MAIL: ['winston', /"message":"line of winston"/],
  SHOP_SQL: ['debug', /DEBUG SHOP_SQL /],
  SHOP_CACHE: ['debuglog', /DEBUG SHOP_CACHE /],
  ROUTER: ['none', /DEBUG ROUTER /],
  EXPRESS: ['none', /DEBUG EXPRESS /],
  FASTIFY: ['fastify', /DEBUG FASTIFY /],
  KOA_ROUTER: ['koa', /DEBUG KOA_ROUTER /],
  MYSQL2: ['mysql', /DEBUG MYSQL2 /],
  REDIS: ['redis', /DEBUG REDIS /],
  UNDICI: ['koa', /DEBUG UNDICI /],
  HTTP_SERVER: ['none', /DEBUG HTTP_SERVER /],
  NET: ['mysql', /DEBUG NET /],
};

test('a service without a line of ours: each category is listed, switched, and counted as often as it wrote', {
  skip: whyNoRedis(),
}, async (t) => {
  const redis = await startRedis();
  t.after(() => redis.close());
  const { output, operatorOf, request } = await serveApplication(t, {
    cwd: folderOf(t, {
      'app.mjs': SERVICE,
      // Each line is to come out: the default budget is 100 a second.
      'rdcp.json': { controls: { budget: false }, tenancy: { isolation: 'organization', baggageKey: 'tenant' } },
    }),
    env: { REDIS: redis.url },
  });
  const use = async (path: string, tenant?: string) => {
    for (let times = 0; times < 3; times++) assert.equal(await request(path, tenant), 'done');
    // The pipes of a child are read a moment later.
    await new Promise((wait) => setTimeout(wait, 150));
  };
  for (const [path] of Object.values(CATEGORIES)) await use(path);
  for (const [name, [path, line]] of Object.entries(CATEGORIES)) {
    await assertSwitched(operatorOf, {
      name,
      use: (tenant) => use(path, tenant),
      // Those of the endpoint, which uses @koa/router, included.
      written: () => output.text.split('\n').filter((each) => line.test(each)).length,
      tenants: OF_NO_TENANT.has(name) ? [] : ['acme', 'globex'],
    });
  }
});
