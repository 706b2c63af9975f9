import assert from 'node:assert/strict';
import { connect, createServer, type Http2Server } from 'node:http2';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { fastify } from 'fastify';
import Koa from 'koa';
import type { Match } from '../../src/wire/target.ts';
import { until } from '../support/until.ts';
import { listen, workOf } from './following.ts';

type Fields = Readonly<Record<string, string>>;

/** Returns a function that asks over one connection, and resolves with the body of the answer. */
async function asking(t: TestContext, server: Http2Server) {
  const session = connect(`http://127.0.0.1:${await listen(server)}`);
  t.after(() => {
    session.close();
    server.close();
  });
  return async (fields: Fields, body = '') => {
    const stream = session.request({ ':method': 'POST', ...fields }).setEncoding('utf8');
    stream.end(body);
    let text = '';
    for await (const chunk of stream) text += chunk;
    return text;
  };
}

const SERVERS: Readonly<Record<string, (matches: () => boolean) => Http2Server>> = {
  'the streams of node:http2': (matches) =>
    createServer().on('stream', async (stream) => {
      await turn();
      stream.respond();
      stream.end(String(matches()));
    }),
  'the requests of node:http2': (matches) =>
    createServer(async (_request, response) => {
      await turn();
      response.end(String(matches()));
    }),
  Koa: (matches) => {
    const app = new Koa();
    app.use(async (ctx) => {
      await turn();
      ctx.body = String(matches());
    });
    return createServer(app.callback());
  },
};

describe('work of an HTTP/2 request', () => {
  const CASES: readonly (readonly [Match, boolean])[] = [
    [{ 'url.path': '/orders/7' }, true],
    [{ 'url.path': '/order' }, false],
    [{ 'url.query.page': '2' }, true],
    [{ 'http.request.method': 'POST' }, true],
    [{ 'http.request.header.X-Customer': '77' }, true],
    [{ 'http.request.header.x-customer': '7' }, false],
    [{ 'http.request.header.host': '127.0.0.1:*' }, true],
    [{ 'client.address': '127.0.0.1' }, true],
    [{ 'http.route': '*' }, false],
  ];
  for (const [name, make] of Object.entries(SERVERS)) {
    it(`is known by ${name}`, async (t) => {
      for (const [match, expected] of CASES) {
        const { matches, end } = workOf(t, match);
        const ask = await asking(t, make(matches));
        const answer = await ask({ ':path': '/orders/7?page=2', 'x-customer': '77' });
        assert.equal(answer, String(expected), JSON.stringify(match));
        end();
      }
    });
  }

  it('is one of many on its connection, also in events of its body', async (t) => {
    const { matches } = workOf(t, { 'http.request.header.x-customer': '77' });
    const seen: string[] = [];
    const server = createServer((request, response) => {
      const customer = request.headers['x-customer'];
      response.on('finish', () => seen.push(`${customer} ${matches()}`));
      request.resume().on('end', () => response.end(`${customer} ${matches()}`));
    });
    const ask = await asking(t, server);
    const customers = Array.from({ length: 300 }, (_, index) => String(70 + (index % 10)));
    const answers = await Promise.all(customers.map((customer) => ask({ 'x-customer': customer }, 'body')));
    const expected = customers.map((customer) => `${customer} ${customer === '77'}`);
    assert.deepEqual(answers, expected);
    await until('all answers are finished', () => seen.length === answers.length);
    assert.deepEqual(seen.sort(), expected.sort());
    assert.equal(matches(), false);
  });

  it('has the route that Fastify has found', async (t) => {
    const { matches } = workOf(t, { 'http.route': '/orders/:id' });
    const app = fastify({ http2: true });
    app.post('/orders/:id', async () => matches());
    app.post('/basket/:id', async () => matches());
    await app.ready();
    const ask = await asking(t, app.server);
    assert.deepEqual(await Promise.all(['/orders/7', '/basket/7'].map((path) => ask({ ':path': path }))), [
      'true',
      'false',
    ]);
  });
});
