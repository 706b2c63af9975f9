// A service that debugs one line for each request, on the framework that its first argument names, in which its remote control
// is mounted. The second argument is its configuration. It tells its parent where it listens.

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { fastify } from 'fastify';
import Koa from 'koa';
import { createRdcp, type RdcpConfig } from 'opentelemetry-instrumentation-rdcp';

const [, , framework = '', config = '{}'] = process.argv;
const rdcp = createRdcp({ ...(JSON.parse(config) as RdcpConfig), server: false });
const payment = rdcp.category('PAYMENT');
const handle = rdcp.callback();

/** @param url such as `/12` */
function answer(url = ''): string {
  payment.debug(`order ${url.slice(1)}`);
  return 'paid';
}

async function serve(): Promise<Server> {
  if (framework === 'express') {
    const app = express().use(handle);
    return app.use((request, response) => void response.send(answer(request.url))).listen(0, '127.0.0.1');
  }
  if (framework === 'fastify') {
    const app = fastify().addHook('onRequest', (request, reply, done) => handle(request.raw, reply.raw, done));
    app.get('/*', async (request) => answer(request.url));
    await app.listen({ port: 0, host: '127.0.0.1' });
    return app.server;
  }
  const app = new Koa().use(
    (context, next) =>
      new Promise((resolve, reject) => {
        context.res.once('close', resolve);
        handle(context.req, context.res, () => next().then(resolve, reject));
      }),
  );
  app.use((context) => {
    context.body = answer(context.url);
  });
  return createServer(app.callback()).listen(0, '127.0.0.1');
}

const server = await serve();
const listening = () => process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
if (server.listening) listening();
else server.once('listening', listening);
process.on('disconnect', () => process.exit());
