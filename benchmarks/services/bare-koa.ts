// A bare Koa service, with one route that answers as many bytes as it is told and one that first reads a JSON body.

import Router from '@koa/router';
import Koa from 'koa';
import { koaBody } from 'koa-body';
import { serve } from '../load/serve.ts';

const answerBytes = Number(process.argv[2]);
const body = JSON.stringify({ filler: 'x'.repeat(answerBytes - JSON.stringify({ filler: '' }).length) });

const router = new Router();
router.get('/', (ctx) => {
  ctx.type = 'application/json';
  ctx.body = body;
});
router.post('/', koaBody({ multipart: false, text: false, urlencoded: false }), (ctx) => {
  if (ctx.request.body === undefined) throw new Error('the body was not parsed');
  ctx.type = 'application/json';
  ctx.body = body;
});

const app = new Koa();
app.use(router.routes());
serve(app.callback());
