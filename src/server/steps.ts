import type { Middleware } from 'koa';
import type { Context, RequestState, Step } from './context.ts';

/** Takes every request through the steps, in order, and passes it on. */
export function steps(...sequence: readonly Step[]): Middleware<RequestState> {
  return (ctx, next) => {
    const pending = run(sequence, ctx);
    return pending === undefined ? next() : pending.then(next);
  };
}

/** Takes a request through the steps, the last of which answers it. */
export function endpoint(...sequence: readonly Step[]): Middleware<RequestState> {
  return (ctx) => run(sequence, ctx);
}

/** A step that has nothing to wait for costs no turn of the microtask queue; most have not. */
function run(sequence: readonly Step[], ctx: Context, from = 0): Promise<void> | undefined {
  for (let index = from; index < sequence.length; index += 1) {
    const pending = (sequence[index] as Step)(ctx);
    if (pending !== undefined) return pending.then(() => run(sequence, ctx, index + 1));
  }
  return undefined;
}
