// A Koa service whose every request makes debug calls in a hot path, of a category that is off or of one that is on under
// the default budget. The records go through the SDK's batch processor, to an exporter that drops them.

import Router from '@koa/router';
import { logs } from '@opentelemetry/api';
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs';
import Koa from 'koa';
import { serve } from '../load/serve.ts';
import { built } from '../measurement.ts';

const { createRdcp }: typeof import('../../src/index.ts') = await import(built('index.js'));

/** A request takes about 65 microseconds of a processor, so these are about a million calls a second of it. */
const CALLS = 64;

const exporter = {
  export: (_records: unknown, done: (result: { code: 0 }) => void) => done({ code: 0 }),
  shutdown: async () => {},
  forceFlush: async () => {},
};
logs.setGlobalLoggerProvider(new LoggerProvider({ processors: [new BatchLogRecordProcessor({ exporter })] }));
const rdcp = createRdcp({ server: false, security: { apiKeys: [] }, emit: { to: 'otel' } });
const off = rdcp.category('OFF');
const on = rdcp.category('FLOOD', { enabled: true });

const filler = 'x'.repeat(1000);
const router = new Router();
router.get('/off', (ctx) => {
  for (let call = 0; call < CALLS; call++) off.debug('line priced', { call });
  ctx.body = { filler };
});
router.get('/flood', (ctx) => {
  for (let call = 0; call < CALLS; call++) on.debug('line priced', { call });
  ctx.body = { filler };
});

const app = new Koa();
app.use(router.routes());
serve(app.callback());
