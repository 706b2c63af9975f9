/** Time that an application has for its own start before this package does more than it must; milliseconds. */
const HEAD_START_MS = 50;

/** Runs something a moment later, so that an application's first statements do not wait for it. Keeps no process alive. */
export function afterStart(run: () => void): void {
  setTimeout(run, HEAD_START_MS).unref();
}
