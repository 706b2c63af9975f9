import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { describe, it, type TestContext } from 'node:test';
import express from 'express';
import { fastify } from 'fastify';
import Koa from 'koa';
import { koaBody } from 'koa-body';
import { until } from '../support/until.ts';
import { serve, workOf } from './following.ts';

/** Returns a function that asks over few connections, which are reused, and resolves with the body of the answer. */
function posting(t: TestContext, url: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: 3 });
  t.after(() => agent.destroy());
  return (customer: string) =>
    new Promise<string>((resolve, reject) => {
      const headers = { 'x-customer': customer, 'content-type': 'application/json' };
      const sent = request(url, { agent, method: 'POST', headers }, async (response) => {
        let text = '';
        for await (const chunk of response.setEncoding('utf8')) text += chunk;
        resolve(text);
      });
      sent.on('error', reject);
      // The body arrives after the head.
      sent.flushHeaders();
      setImmediate(() => sent.end(JSON.stringify({ customer })));
    });
}

/** Services that answer once they have read a JSON body by listeners, as their frameworks do. */
const SERVICES: Readonly<Record<string, (t: TestContext, matches: () => boolean) => Promise<string>>> = {
  'node:http': (t, matches) =>
    serve(t, (incoming, response) => {
      let text = '';
      incoming.setEncoding('utf8').on('data', (chunk) => {
        text += chunk;
      });
      incoming.on('end', () => response.end(`${JSON.parse(text).customer} ${matches()}`));
    }),
  Express: (t, matches) =>
    serve(
      t,
      express()
        .use(express.json())
        .post('/', (incoming, response) => void response.send(`${incoming.body.customer} ${matches()}`)),
    ),
  Koa: (t, matches) => {
    const app = new Koa();
    app.use(koaBody());
    app.use((ctx) => {
      const { customer } = ctx.request.body as { customer: string };
      ctx.body = `${customer} ${matches()}`;
    });
    return serve(t, app.callback());
  },
  Fastify: (t, matches) => {
    const app = fastify();
    t.after(() => app.close());
    app.post<{ Body: { customer: string } }>('/', async ({ body }) => `${body.customer} ${matches()}`);
    return app.listen({ port: 0, host: '127.0.0.1' });
  },
};

describe('work of an HTTP request goes on in events', () => {
  for (const [name, start] of Object.entries(SERVICES)) {
    it(`of its body, with ${name}`, async (t) => {
      const { matches } = workOf(t, { 'http.request.header.x-customer': '77' });
      const post = posting(t, await start(t, matches));
      const customers = Array.from({ length: 200 }, (_, index) => String(70 + (index % 10)));
      const answers = await Promise.all(customers.map(post));
      assert.deepEqual(
        answers,
        customers.map((customer) => `${customer} ${customer === '77'}`),
      );
    });
  }

  it('of its end where it has no body, also when it is read late', async (t) => {
    const { matches } = workOf(t, { 'url.path': '/77' });
    const url = await serve(t, async (incoming, response) => {
      if (incoming.headers['x-late']) await new Promise(setImmediate);
      incoming.resume().on('end', () => response.end(String(matches())));
    });
    for (const headers of [{}, { 'x-late': '1' }])
      for (const path of ['/76', '/77', '/76'])
        assert.equal(await (await fetch(url + path, { headers: headers as never })).text(), String(path === '/77'));
  });

  it('of its answer, where access logs are written', async (t) => {
    const { matches } = workOf(t, { 'http.request.header.x-customer': '77' });
    const seen: string[] = [];
    const url = await serve(t, (incoming, response) => {
      const note = (event: string) => () => seen.push(`${event} ${incoming.headers['x-customer']} ${matches()}`);
      response.on('finish', note('finish')).on('close', note('close'));
      incoming.resume().on('end', () => response.end());
    });
    const post = posting(t, url);
    for (const customer of ['76', '77', '76']) await post(customer);
    const expected = ['76 false', '77 true', '76 false'];
    await until('the last answer is closed', () => seen.length === 6);
    assert.deepEqual(
      seen,
      expected.flatMap((result) => [`finish ${result}`, `close ${result}`]),
    );
  });

  it('and leaves the attributes of work inside the request as they are', async (t) => {
    const { context, matches } = workOf(t, { 'user.id': '42' });
    const url = await serve(t, (incoming, response) => {
      context.run({ 'user.id': '42' }, async () => {
        for await (const _chunk of incoming);
        response.end(String(matches()));
      });
    });
    assert.deepEqual(await posting(t, url)('1'), 'true');
  });
});
