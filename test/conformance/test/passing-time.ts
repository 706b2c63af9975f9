import type { Timing } from '../src/session.ts';

/** Time that a run and the server that it judges have together: it passes while the run waits, and on no busy machine. */
export function passingTime() {
  const began = Date.now();
  let passed = 0;
  const pass = (milliseconds: number) => {
    passed += milliseconds;
  };
  const timing: Timing = { now: () => passed, sleep: async (milliseconds) => pass(milliseconds) };
  return { timing, pass, clock: () => began + passed };
}
