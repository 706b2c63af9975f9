import { type Delay, unrefTimeout } from '../wire/time/clock.ts';
import { timers } from '../wire/time/timers.ts';

export class DeadlineError extends Error {}

/**
 * Rejects with a {@link DeadlineError} when `work` does not settle in time. An answer that arrived while the event loop stood
 * still is in time.
 * @param work receives a signal that aborts at the deadline
 */
export async function within<T>(
  deadlineMs: number,
  work: (signal: AbortSignal) => Promise<T>,
  delay: Delay = unrefTimeout,
): Promise<T> {
  const { promise: deadline, reject } = Promise.withResolvers<never>();
  const over = new AbortController();
  const cancel = delay(deadlineMs, () => {
    // Sockets are read after timers and before this.
    timers
      .setImmediate(() => {
        reject(new DeadlineError(`the store did not answer within ${deadlineMs} ms`));
        over.abort();
      })
      .unref();
  });
  try {
    return await Promise.race([work(over.signal), deadline]);
  } finally {
    cancel();
  }
}
