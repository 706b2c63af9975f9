import { timers } from './timers.ts';

/** Delay before this package does work that can wait, so that the application starts first; milliseconds. */
const HEAD_START_MS = 50;

/**
 * Runs a task a moment after the application's first statements, so that its start does not wait for it. Does not keep the
 * process alive: counted from the first turn of the event loop, the delay is longer than a script lives that only runs through.
 */
export function afterStart(run: () => void): void {
  timers
    .setImmediate(() => {
      timers.setTimeout(run, HEAD_START_MS).unref();
    })
    .unref();
}
