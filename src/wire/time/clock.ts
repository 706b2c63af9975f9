import { timers } from './timers.ts';

const { now } = Date;
const monotonic = performance.now.bind(performance);

/** Injected, so that tests do not sleep. */
export interface Clock {
  /** Wall time, milliseconds since the epoch. May jump forwards or backwards. */
  now(): number;
  /** Milliseconds since the start of the process; never goes back. */
  monotonic(): number;
}

export const systemClock: Clock = {
  now: () => now(),
  monotonic,
};

/** What it returns is ignored. */
type Task = () => unknown;

/** Runs `task` every `milliseconds`, and returns a function that stops it. */
export type Schedule = (milliseconds: number, task: Task) => () => void;

/** On a timer that never keeps the process alive. */
export const unrefInterval: Schedule = (milliseconds, task) => {
  const timer = timers.setInterval(task, milliseconds);
  timer.unref();
  return () => timers.clearInterval(timer);
};

/** Runs `task` once, after `milliseconds`, and returns a function that cancels it. */
export type Delay = (milliseconds: number, task: Task) => () => void;

/** On a timer that never keeps the process alive. */
export const unrefTimeout: Delay = (milliseconds, task) => {
  const timer = timers.setTimeout(task, milliseconds);
  timer.unref();
  return () => timers.clearTimeout(timer);
};

/** Timers whose tasks do not throw into the application. @param failed receives what they throw, or reject with */
export function guardedTimers(failed: (error: unknown) => void): {
  readonly schedule: Schedule;
  readonly delay: Delay;
} {
  const guarded = (task: Task) => async () => {
    try {
      await task();
    } catch (error) {
      failed(error);
    }
  };
  return {
    schedule: (milliseconds, task) => unrefInterval(milliseconds, guarded(task)),
    delay: (milliseconds, task) => unrefTimeout(milliseconds, guarded(task)),
  };
}

/** Differences from wall time up to this are ignored: clocks are slewed, and the two clocks are not read at the same instant. */
const TOLERANCE_MS = 60_000;
/** How long the wall clock must keep a new time before it is accepted. */
const SETTLE_MS = 24 * 3_600_000;

/** Without a monotonic clock, wall time is used unchecked. */
export type RetentionClock = Pick<Clock, 'now'> & Partial<Clock>;

/**
 * Wall time for retention, which a step of the clock must neither extend by years nor end early. After a step it continues
 * as before, until the clock has kept its new time for a day. Must be read at least once a minute.
 * @returns a function that returns milliseconds since the epoch
 */
export function createSteadyClock({ now, monotonic: elapsed = now }: RetentionClock): () => number {
  let base = now() - elapsed();
  let step: { readonly by: number; readonly since: number } | undefined;

  return () => {
    const wall = now();
    const monotonic = elapsed();
    const by = wall - monotonic - base;
    if (Math.abs(by) <= TOLERANCE_MS) step = undefined;
    else {
      if (step === undefined || Math.abs(by - step.by) > TOLERANCE_MS) step = { by, since: monotonic };
      if (monotonic - step.since < SETTLE_MS) return Math.round(base + monotonic);
      step = undefined;
    }
    base = wall - monotonic;
    return wall;
  };
}
