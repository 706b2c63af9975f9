/** Runs `task` again and again, `milliseconds` apart, and returns the way to stop it. */
export type Schedule = (milliseconds: number, task: () => void) => () => void;

/** On a timer that never keeps the process alive. */
export const unrefInterval: Schedule = (milliseconds, task) => {
  const timer = setInterval(task, milliseconds);
  timer.unref();
  return () => clearInterval(timer);
};
