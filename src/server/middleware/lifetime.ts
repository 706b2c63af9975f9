import { isRdcpError, RdcpError } from '../../errors.ts';
import type { Step } from '../context.ts';
import { unavailable } from '../error-answer.ts';

/** Once the server closes, what arrives is sent elsewhere; what was accepted before is still answered. */
export function refuseWhileClosing(closing: () => boolean): Step {
  return (ctx, next) => {
    if (!closing()) return next();
    ctx.set('Connection', 'close');
    throw unavailable('The server is shutting down');
  };
}

/** A longer delay overflows Node's timers, which then fire at once. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/**
 * Answers 504 when the rest takes too long. The work goes on: whether it took effect is told by asking again with the
 * same request id. A failure of it after that has nobody to be sent to, and is reported.
 */
export function timeout(seconds: number, report: (error: unknown) => void): Step {
  return async (ctx, next) => {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => {
        ctx.state.expired = true;
        reject(new RdcpError('RDCP_TIMEOUT', `The request took longer than ${seconds} seconds`));
      },
      Math.min(seconds * 1000, MAX_DELAY_MS),
    ).unref();
    const work = next().catch((error: unknown) => {
      if (ctx.state.expired && !isRdcpError(error)) report(error);
      throw error;
    });
    try {
      await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
    }
  };
}
