/** Delay before this package does work that can wait, so that the application starts first; milliseconds. */
const HEAD_START_MS = 50;

/** Runs a task a moment later, so that the application's start does not wait for it. Does not keep the process alive. */
export function afterStart(run: () => void): void {
  setTimeout(run, HEAD_START_MS).unref();
}
