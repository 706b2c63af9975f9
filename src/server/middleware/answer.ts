import type { Answer, Context, Handler, Step } from '../context.ts';
import { contentType } from './headers.ts';

/** Sends the endpoint's answer, unless the timeout was answered before. */
export function answer(handler: Handler): Step {
  return (ctx) => {
    const answered = handler(ctx);
    if (!(answered instanceof Promise)) return write(ctx, answered);
    return answered.then((late) => write(ctx, late));
  };
}

function write(ctx: Context, { body, status = 200, headers }: Answer): void {
  if (ctx.state.expired) return;
  if (headers !== undefined) ctx.set(headers);
  ctx.res.setHeader('Content-Type', contentType(ctx.state.mediaType));
  if (status !== 200) ctx.status = status;
  ctx.body = typeof body === 'string' ? body : JSON.stringify(body);
}
