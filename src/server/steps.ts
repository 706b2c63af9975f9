import type { Middleware } from 'koa';
import type { Context, RequestState, Step } from './context.ts';

/** Runs every request through the steps, in order, and passes it on. */
export function steps(...sequence: readonly Step[]): Middleware<RequestState> {
  return (ctx, next) => {
    const pending = run(sequence, ctx);
    return pending === undefined ? next() : pending.then(next);
  };
}

/** Runs a request through the steps; the last one answers it. */
export function endpoint(...sequence: readonly Step[]): Middleware<RequestState> {
  return (ctx) => run(sequence, ctx);
}

/** A synchronous step costs no microtask, and most steps are synchronous. */
function run(sequence: readonly Step[], ctx: Context, from = 0): Promise<void> | undefined {
  for (let index = from; index < sequence.length; index += 1) {
    const pending = (sequence[index] as Step)(ctx);
    if (pending !== undefined) return pending.then(() => run(sequence, ctx, index + 1));
  }
  return undefined;
}
