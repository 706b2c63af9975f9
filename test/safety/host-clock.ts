/** Milliseconds of the clock of the host that nobody sets: the same for all processes (Linux: CLOCK_MONOTONIC). */
export function hostClock(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
