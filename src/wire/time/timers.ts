/**
 * Node's timers as they were when this package was loaded. The fake timers of a test runner, which replace the global ones and
 * never run what they hold once they are removed, would otherwise stop whatever waits for its timer before it sets the next.
 */
export const timers = {
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setInterval: globalThis.setInterval,
  clearInterval: globalThis.clearInterval,
  setImmediate: globalThis.setImmediate,
};
