import type { Handler, Step } from '../context.ts';
import { contentType } from '../error-answer.ts';

/** Sends what the endpoint answers, unless the time-out was answered before. */
export function answer(handler: Handler): Step {
  return async (ctx) => {
    const { body, status = 200, headers = {} } = await handler(ctx);
    if (ctx.state.expired) return;
    ctx.set({ ...headers, 'Content-Type': contentType(ctx.state.mediaType) });
    ctx.status = status;
    ctx.body = JSON.stringify(body);
  };
}
