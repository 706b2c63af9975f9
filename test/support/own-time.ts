const STEP_MS = 20;

let ran = 0;
let last = performance.now();
setInterval(() => {
  const now = performance.now();
  ran += Math.min(now - last, 2 * STEP_MS);
  last = now;
}, STEP_MS).unref();

/**
 * Milliseconds in which this process could run. On a machine that is busy with others a bound in these stays what it is:
 * what the process is held to between two of its own turns.
 */
export const ownTime = (): number => ran;
