// In a process of its own: it follows the HTTP requests of the process.

import Router from '@koa/router';
import express from 'express';
import { fastify } from 'fastify';
import Koa from 'koa';
import { serve } from '../work/following.ts';
import { selects } from './matched-service.ts';

selects(
  'node:http',
  (t, handle) =>
    serve(t, async ({ url = '', headers }, response) => response.end(await handle(url.split('/')[2] ?? '', headers))),
  { tellsRoute: false },
);

selects(
  'Express',
  (t, handle) => {
    const answer: express.RequestHandler<{ id: string }> = async ({ params, headers }, response) =>
      void response.send(await handle(params.id, headers));
    const basket = express.Router().get('/:id', answer);
    return serve(t, express().get('/orders/:id', answer).use('/basket', basket));
  },
  { tellsRoute: true },
);

selects(
  'Fastify',
  (t, handle) => {
    const app = fastify();
    t.after(() => app.close());
    for (const path of ['/orders/:id', '/basket/:id']) {
      app.get<{ Params: { id: string } }>(path, ({ params, headers }) => handle(params.id, headers));
    }
    return app.listen({ port: 0, host: '127.0.0.1' });
  },
  { tellsRoute: true },
);

selects(
  'Koa',
  (t, handle) => {
    const router = new Router().get('/{*any}/:id', async (ctx) => {
      ctx.body = await handle(ctx.params.id ?? '', ctx.headers);
    });
    return serve(t, new Koa().use(router.routes()).callback());
  },
  { tellsRoute: false },
);
