/** Time as an argument, so that tests need no sleeping. */
export interface Clock {
  /** Wall time, milliseconds since the epoch. May jump either way. */
  now(): number;
  /** Milliseconds of a clock that never goes back, counted from the start of the process. */
  monotonic(): number;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
};

/** Runs `task` again and again, `milliseconds` apart, and returns the way to stop it. */
export type Schedule = (milliseconds: number, task: () => void) => () => void;

/** On a timer that never keeps the process alive. */
export const unrefInterval: Schedule = (milliseconds, task) => {
  const timer = setInterval(task, milliseconds);
  timer.unref();
  return () => clearInterval(timer);
};

/** Runs `task` once, after `milliseconds`, and returns the way to call it off. */
export type Delay = (milliseconds: number, task: () => void) => () => void;

/** On a timer that never keeps the process alive. */
export const unrefTimeout: Delay = (milliseconds, task) => {
  const timer = setTimeout(task, milliseconds);
  timer.unref();
  return () => clearTimeout(timer);
};

/** A difference from wall time that is none: clocks are slewed, and two of them are not read at once. */
const TOLERANCE_MS = 60_000;
/** How long a clock that was set has to keep its new time before it counts. */
const SETTLE_MS = 24 * 3_600_000;

/** Without a monotonic clock, wall time is believed. */
export type RetentionClock = Pick<Clock, 'now'> & Partial<Clock>;

/**
 * Wall time for retention, which a clock that was set must neither prolong by years nor end early: it goes on as it
 * was until the clock has kept its new time for a day. It has to be read at least once a minute.
 * @returns a function that reads it, in milliseconds since the epoch
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
