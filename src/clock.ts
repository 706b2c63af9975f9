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
