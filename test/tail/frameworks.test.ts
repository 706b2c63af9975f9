// In a process of its own: it follows the HTTP requests of the process.

import Router from '@koa/router';
import express from 'express';
import { fastify } from 'fastify';
import Koa from 'koa';
import { koaBody } from 'koa-body';
import { serve } from '../work/following.ts';
import { selects } from './matched-service.ts';

selects(
  'node:http',
  (t, handle) =>
    serve(t, (request, response) => {
      const { url = '', headers } = request;
      request.resume().on('end', async () => response.end(await handle(url.split('/')[2] ?? '', headers)));
    }),
  'what baggage says',
  'what its span says',
);

selects(
  'Express',
  (t, handle) => {
    const answer: express.RequestHandler<{ id: string }> = async ({ params, headers }, response) =>
      void response.send(await handle(params.id, headers));
    const basket = express.Router().post('/:id', answer);
    return serve(t, express().use(express.json()).post('/orders/:id', answer).use('/basket', basket));
  },
  'one route',
);

selects(
  'Fastify',
  (t, handle) => {
    const app = fastify();
    t.after(() => app.close());
    for (const path of ['/orders/:id', '/basket/:id']) {
      app.post<{ Params: { id: string } }>(path, ({ params, headers }) => handle(params.id, headers));
    }
    return app.listen({ port: 0, host: '127.0.0.1' });
  },
  'one route',
);

selects('Koa', (t, handle) => {
  const router = new Router().post('/{*any}/:id', async (ctx) => {
    ctx.body = await handle(ctx.params.id ?? '', ctx.headers);
  });
  return serve(t, new Koa().use(koaBody()).use(router.routes()).callback());
});
