import { type Delay, unrefTimeout } from '../clock.ts';

/** A process whose event loop stood still for a while uses up one of these steps. */
const STEPS = 4;

export class DeadlineError extends Error {}

/**
 * Rejects with a {@link DeadlineError} when `work` does not settle in time. Time in which this process did not run counts
 * for at most a quarter of the deadline: the answer may have arrived meanwhile, and is read before the timers that are late.
 * @param work receives a signal that aborts at the deadline
 */
export async function within<T>(
  deadlineMs: number,
  work: (signal: AbortSignal) => Promise<T>,
  delay: Delay = unrefTimeout,
): Promise<T> {
  const { promise: deadline, reject } = Promise.withResolvers<never>();
  const over = new AbortController();
  let steps = STEPS;
  let cancel = () => {};
  function step(): void {
    if (steps > 0) {
      steps -= 1;
      cancel = delay(deadlineMs / STEPS, step);
      return;
    }
    // Sockets are read after timers and before this.
    const immediate = setImmediate(() => {
      reject(new DeadlineError(`Redis did not answer within ${deadlineMs} ms`));
      over.abort();
    }).unref();
    cancel = () => clearImmediate(immediate);
  }
  step();
  try {
    return await Promise.race([work(over.signal), deadline]);
  } finally {
    cancel();
  }
}
