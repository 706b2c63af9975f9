import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { type AddressInfo, createServer as createSocketServer, type Server } from 'node:net';
import { after, before, describe, it, type TestContext } from 'node:test';
import express from 'express';
import { fastify } from 'fastify';
import { Redis } from 'ioredis';
import * as mysql from 'mysql2';
import { createClient } from 'redis';
import { asOwnWork } from '../../src/otel/own-work.ts';
import { PASSWORD, type RedisServer, startRedis, whyNoRedis } from '../store/redis-server.ts';
import { listen, serve } from '../work/following.ts';
import { followChannels, type Line } from './following.ts';

const SECRET = 'hunter2';

const { createConnection, createPool } = mysql;
// mysql2's own server, whose types it does not export.
const { createServer: createMysqlServer } = mysql as unknown as {
  createServer(): MysqlServer;
};
interface MysqlServer {
  readonly _server: Server;
  on(event: 'connection', listener: (peer: MysqlPeer) => void): void;
  listen(port: number, host: string): void;
}
/** The server's side of a connection. */
interface MysqlPeer {
  on(event: 'query' | 'error', listener: (sql: string) => void): void;
  serverHandshake(options: object): void;
  writeError(error: { readonly code: number; readonly message: string }): void;
  writeTextResult(rows: readonly object[], columns: readonly object[]): void;
}
const TLS_AND_COMPRESSION = 0x820;
const COLUMN = { catalog: 'def', schema: 'shop', table: 'users', orgTable: 'users', orgName: 'name', characterSet: 45 };
Object.assign(COLUMN, { columnLength: 40, columnType: 253, flags: 0, decimals: 0 });

/** A category that is on, and its lines without what changes from run to run. */
function follow(t: TestContext, library: string, name: string) {
  const { loaded, set, lines, ...rest } = followChannels(t);
  loaded(library, '9.9.9');
  set(name, true);
  const stable = ({ duration_ms: duration, 'server.port': _, ...line }: Line) => {
    assert.equal(typeof duration, 'number');
    return line;
  };
  return {
    ...rest,
    set,
    lines: () => {
      const shown = lines(name).map(stable);
      assert.ok(!JSON.stringify(shown).includes(SECRET), 'a secret is shown');
      return shown;
    },
  };
}

async function ask(t: TestContext, listener: RequestListener, ...paths: string[]): Promise<void> {
  const url = await serve(t, listener);
  for (const path of paths) await (await fetch(`${url}${path}?token=${SECRET}`)).text();
}

it('EXPRESS shows the handlers of a request, by route and function', async (t) => {
  const { set, lines } = follow(t, 'router', 'EXPRESS');
  const orders = express.Router();
  orders.get('/:id', async function getOrder(_req, res) {
    await new Promise(setImmediate);
    res.json({ secret: SECRET });
  });
  orders.get('/:id/lost', async function loseOrder() {
    throw new TypeError(SECRET);
  });
  const app = express();
  app.use('/orders', orders);
  app.use(((_error, _req, res, _next) => void res.status(500).end()) as express.ErrorRequestHandler);
  await ask(t, app, '/orders/42', '/orders/42/lost');
  const shown = lines();
  const of = (name: string) => shown.filter((line) => line['code.function.name'] === name);
  const request = { 'http.request.method': 'GET', 'http.route': '/orders/:id' };
  assert.deepEqual(of('getOrder'), [{ message: 'handler ended', ...request, 'code.function.name': 'getOrder' }]);
  assert.deepEqual(of('loseOrder'), [
    {
      message: 'handler failed',
      'http.request.method': 'GET',
      'http.route': '/orders/:id/lost',
      'code.function.name': 'loseOrder',
      'error.type': 'TypeError',
    },
  ]);
  set('EXPRESS', false);
  await ask(t, app, '/orders/43');
  assert.deepEqual(lines(), []);
});

it('EXPRESS shows the route of a request by its patterns, wherever it is mounted', async (t) => {
  const { lines } = follow(t, 'router', 'EXPRESS');
  const answer = (name: string) =>
    Object.defineProperty(((_req, res) => void res.end()) as express.RequestHandler, 'name', { value: name });
  const fail: express.RequestHandler = async function fail() {
    throw new Error(SECRET);
  };
  const later: express.RequestHandler = function later(_req, _res, next) {
    setImmediate(next);
  };
  const app = express();
  const mounted = express();
  const [outer, inner, tenants] = [0, 1, 2].map(() => express.Router({ mergeParams: true }));
  mounted.get('/health', answer('health'));
  inner!.use(later).get('/', answer('inner'));
  outer!.use('/inner', inner!).get('/inner/:id', answer('outer'));
  tenants!.param('id', function id(_req, _res, next) {
    setImmediate(next);
  });
  tenants!.get('/', answer('tenant')).get('/users/:id', later, answer('user')).get('/lost', fail);
  tenants!.use('/nested', function direct(req, res, next) {
    inner!(req, res, next);
  });
  app.use(later).use('/api', mounted).use('/r/', outer!).use(['/none', '/t/:tenant'], tenants!);
  app.get(['/list/:id', /^\/pattern\/(.*)$/], answer('list')).use(/^\/under/, mounted);
  app.use(((_error, _req, res, _next) => void res.end()) as express.ErrorRequestHandler);
  const expected: Readonly<Record<string, string>> = {
    '/api/health': 'mounted_app /api/health, health /api/health',
    '/r/inner': 'router /r, router /r/inner, later /r/inner, inner /r/inner',
    '/r/inner/7': 'router /r, router /r/inner, later /r/inner, outer /r/inner/:id',
    '/t/acme': 'router /t/:tenant, tenant /t/:tenant',
    '/t/acme/users/7':
      'router /t/:tenant/users/:id, id /t/:tenant/users/:id, later /t/:tenant/users/:id, user /t/:tenant/users/:id',
    '/t/acme/lost': 'router /t/:tenant/lost, fail /t/:tenant/lost,  /t/:tenant/lost',
    '/t/acme/nested': 'router /t/:tenant, direct /t/:tenant/nested, later /t/:tenant/nested, inner /t/:tenant/nested',
    '/list/7': 'list /list/:id',
    '/pattern/7': 'list /^\\/pattern\\/(.*)$/',
    '/under/health': 'mounted_app /^\\/under//health, health /^\\/under//health',
  };
  for (const [path, shown] of Object.entries(expected)) {
    await ask(t, app, path);
    const written = lines().map((line) => `${line['code.function.name'] ?? ''} ${line['http.route']}`);
    assert.deepEqual(written.sort(), ['later /', ...shown.split(', ')].sort(), path);
  }
});

it('FASTIFY shows the handlers of routes, with their status', async (t) => {
  const { lines } = follow(t, 'fastify', 'FASTIFY');
  const app = fastify();
  app.get('/orders/:id', async (_request, reply) => {
    await new Promise(setImmediate);
    return reply.code(202).send({ secret: SECRET });
  });
  app.get('/sync/:id', (_request, reply) => void reply.send(SECRET));
  app.get('/lost/:id', async () => {
    throw Object.assign(new Error(SECRET), { code: 'ELOST' });
  });
  await app.ready();
  await ask(t, (req, res) => app.routing(req, res), '/orders/42', '/sync/42', '/lost/42');
  const handled = (message: string, route: string, status: number) => ({
    message,
    'http.request.method': 'GET',
    'http.route': route,
    'http.response.status_code': status,
  });
  assert.deepEqual(lines(), [
    handled('handler ended', '/orders/:id', 202),
    handled('handler ended', '/sync/:id', 200),
    { ...handled('handler failed', '/lost/:id', 500), 'error.type': 'ELOST' },
  ]);
});

it('MYSQL2 shows connections and queries by the operation, and no statement, value or user', async (t) => {
  const { lines } = follow(t, 'mysql2', 'MYSQL2');
  const silent = createSocketServer((socket) => socket.destroy());
  t.after(() => silent.close());
  const port = await listen(silent);
  const options = { host: '127.0.0.1', port, user: SECRET, password: SECRET, database: 'shop' };
  const connection = createConnection(options);
  const statement = `/* ${SECRET} */ (select * from users where name = '${SECRET}')`;
  const failed = await new Promise((resolve) => connection.on('error', () => {}).query(statement, [SECRET], resolve));
  assert.ok(failed instanceof Error);
  const pool = createPool(options);
  assert.ok(await new Promise((resolve) => pool.getConnection(resolve)));
  await new Promise((resolve) => pool.end(resolve));
  const database = { 'db.system.name': 'mysql', 'db.namespace': 'shop', 'server.address': '127.0.0.1' };
  const shown = lines();
  const of = (message: string) =>
    shown.filter((line) => line.message === message).map(({ 'error.type': _, ...line }) => line);
  assert.deepEqual(of('query failed'), [{ message: 'query failed', ...database, 'db.operation.name': 'SELECT' }]);
  assert.deepEqual(of('connection failed')[0], { message: 'connection failed', ...database });
  assert.equal(of('no connection from the pool').length, 1);
  assert.ok(shown.every((line) => typeof line['error.type'] === 'string'));
});

it('MYSQL2 shows queries that a server of the MySQL protocol has answered', async (t) => {
  const { set, lines } = follow(t, 'mysql2', 'MYSQL2');
  const server = createMysqlServer();
  server.on('connection', (peer) => {
    const handshake = {
      protocolVersion: 10,
      serverVersion: '8.4.0',
      connectionId: 1,
      statusFlags: 2,
      characterSet: 45,
    };
    peer.serverHandshake({ ...handshake, capabilityFlags: 0xffffff & ~TLS_AND_COMPRESSION });
    peer.on('query', (sql) => {
      if (sql.startsWith('insert')) peer.writeError({ code: 1062, message: `Duplicate entry '${SECRET}'` });
      else peer.writeTextResult([{ name: SECRET }], [{ ...COLUMN, name: 'name' }]);
    });
    peer.on('error', () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server._server, 'listening');
  t.after(() => server._server.close());
  const options = {
    host: '127.0.0.1',
    port: (server._server.address() as AddressInfo).port,
    user: SECRET,
    password: SECRET,
    database: 'shop',
  };
  const pool = createPool(options);
  const ask = (statement: string) =>
    new Promise((resolve) => pool.query(statement, (error, rows) => resolve(error ?? rows)));
  assert.deepEqual(await ask(`select name from users where name = '${SECRET}'`), [{ name: SECRET }]);
  assert.ok((await ask(`insert into users values ('${SECRET}')`)) instanceof Error);
  const database = { 'db.system.name': 'mysql', 'db.namespace': 'shop', 'server.address': '127.0.0.1' };
  const shown = lines().filter(({ message }) => message.startsWith('query'));
  assert.deepEqual(
    shown.map(({ 'error.type': type, ...line }) => [line, typeof type]),
    [
      [{ message: 'query ended', ...database, 'db.operation.name': 'SELECT' }, 'undefined'],
      [{ message: 'query failed', ...database, 'db.operation.name': 'INSERT' }, 'string'],
    ],
  );
  set('MYSQL2', false);
  await ask('select 1');
  assert.deepEqual(lines(), []);
  await new Promise((resolve) => pool.end(resolve));
});

describe('with a real Redis', { skip: whyNoRedis() }, () => {
  let server: RedisServer;
  before(async () => {
    server = await startRedis();
  });
  after(() => server.close());

  const database = { 'db.system.name': 'redis', 'db.namespace': '0', 'server.address': '127.0.0.1' };
  const command = (name: string) => ({ message: 'command ended', 'db.operation.name': name, ...database });

  it('REDIS shows commands by their name, and no argument', async (t) => {
    const { set, lines } = follow(t, '@redis/client', 'REDIS');
    const client = createClient({ socket: { host: '127.0.0.1', port: server.port }, password: PASSWORD });
    t.after(() => client.destroy());
    await client.connect();
    assert.equal(lines().at(-1)?.message, 'connection established');
    await client.set(SECRET, SECRET);
    await client.get(SECRET);
    assert.deepEqual(lines(), [command('SET'), command('GET')]);
    await assert.rejects(client.sendCommand(['INCR', SECRET]));
    const [{ 'error.type': type, ...line } = { message: '' }] = lines();
    assert.deepEqual([line, typeof type], [{ ...command('INCR'), message: 'command failed' }, 'string']);
    await client.multi().get('a').get('b').exec();
    const batch = { 'db.operation.name': 'MULTI', 'db.operation.batch.size': 2 };
    assert.deepEqual(lines(), [{ ...database, message: 'commands ended', ...batch }]);
    await asOwnWork(() => client.get(SECRET));
    assert.deepEqual(lines(), []);
    set('REDIS', false);
    await client.get(SECRET);
    assert.deepEqual(lines(), []);
  });

  it('IOREDIS shows commands by their name, and no argument', async (t) => {
    const { lines } = follow(t, 'ioredis', 'IOREDIS');
    const client = new Redis({ host: '127.0.0.1', port: server.port, password: PASSWORD, lazyConnect: true });
    t.after(() => client.disconnect());
    await client.connect();
    assert.equal(lines().at(-1)?.message, 'connection established');
    await client.set(`${SECRET}2`, SECRET);
    await client.get(`${SECRET}2`);
    assert.deepEqual(lines(), [command('SET'), command('GET')]);
  });
});
