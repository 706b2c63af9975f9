// A bare Koa service with the routes of the endpoint, as @koa/router tries every route for every request. Each answers as many
// bytes as it is told, and the one for changes first reads a JSON body.

import Router from '@koa/router';
import Koa from 'koa';
import { koaBody } from 'koa-body';
import { PATHS } from '../../src/wire/constants.ts';
import { serve } from '../load/serve.ts';

const answerBytes = Number(process.argv[2]);
const body = JSON.stringify({ filler: 'x'.repeat(answerBytes - JSON.stringify({ filler: '' }).length) });

const answer: Koa.Middleware = (ctx) => {
  ctx.type = 'application/json';
  ctx.body = body;
};

const router = new Router();
for (const path of Object.values(PATHS)) if (path !== PATHS.control) router.get(path, answer);
router.post(PATHS.control, koaBody({ multipart: false, text: false, urlencoded: false }), (ctx, next) => {
  if (ctx.request.body === undefined) throw new Error('the body was not parsed');
  return answer(ctx, next);
});

const app = new Koa();
app.use(router.routes());
serve(app.callback());
