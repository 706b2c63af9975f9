import type { Middleware } from 'koa';
import type { Context, RequestState, Step } from './context.ts';

/** Takes every request through the steps, in order, and passes it on. */
export function steps(...sequence: readonly Step[]): Middleware<RequestState> {
  return async (ctx, next) => {
    await run(sequence, ctx);
    return next();
  };
}

/** Takes a request through the steps, the last of which answers it. */
export function endpoint(...sequence: readonly Step[]): Middleware<RequestState> {
  return (ctx) => run(sequence, ctx);
}

/** A step that has nothing to wait for costs no turn of the microtask queue; most have not. */
async function run(sequence: readonly Step[], ctx: Context): Promise<void> {
  for (const step of sequence) {
    const pending = step(ctx);
    if (pending !== undefined) await pending;
  }
}
