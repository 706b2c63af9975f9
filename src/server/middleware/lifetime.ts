import type { Middleware } from 'koa';
import { isRdcpError, RdcpError, unavailable } from '../../errors.ts';
import { endConnection } from '../http2-request.ts';
import type { RequestState, Step } from '../steps.ts';

/** Refuses new requests while the server closes; accepted ones are still answered. */
export function refuseWhileClosing(closing: () => boolean): Step {
  return (ctx) => {
    if (!closing()) return;
    endConnection(ctx.res);
    throw unavailable('The server is shutting down', undefined, 1);
  };
}

/** A longer delay overflows Node's timers, which then fire at once. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/**
 * Answers 504 when the request takes too long. The work continues; a retry with the same request id shows its result. A
 * later failure is reported, since it can no longer be sent.
 */
export function timeout(seconds: number, report: (error: unknown) => void): Middleware<RequestState> {
  return (ctx, next) =>
    new Promise<void>((resolve, reject) => {
      const start = (extraMs: number) =>
        setTimeout(
          () => {
            ctx.state.expired = true;
            reject(new RdcpError('RDCP_TIMEOUT', `The request took longer than ${seconds + extraMs / 1000} seconds`));
          },
          Math.min(seconds * 1000 + extraMs, MAX_DELAY_MS),
        ).unref();
      let timer = start(0);
      ctx.state.extend = (extraMs) => {
        clearTimeout(timer);
        timer = start(extraMs);
      };
      // V8 may allocate states in its old generation, where all that one refers to lives until the next major collection.
      const end = () => {
        clearTimeout(timer);
        ctx.state.extend = undefined;
      };
      next().then(
        () => {
          end();
          resolve();
        },
        (error: unknown) => {
          end();
          if (ctx.state.expired && !isRdcpError(error)) report(error);
          reject(error);
        },
      );
    });
}
