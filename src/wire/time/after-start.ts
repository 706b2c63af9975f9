import { timers } from './timers.ts';

/** Delay before this package does work that can wait, so that the application starts first; milliseconds. */
const HEAD_START_MS = 50;

/** Counted from the first turn of the event loop: a script that only runs through ends before. Keeps no process alive. */
export function afterStart(run: () => void): void {
  timers
    .setImmediate(() => {
      timers.setTimeout(run, HEAD_START_MS).unref();
    })
    .unref();
}
