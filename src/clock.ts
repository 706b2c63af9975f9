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

/** Runs `fn` once after `ms` milliseconds, and returns the way to call it off. */
export type Schedule = (fn: () => void, ms: number) => () => void;

/** A timer that never keeps the process alive. */
export const systemSchedule: Schedule = (fn, ms) => {
  const timer = setTimeout(fn, ms).unref();
  return () => clearTimeout(timer);
};
