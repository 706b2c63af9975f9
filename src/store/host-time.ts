/** Milliseconds of the host's monotonic clock, which is the same in all its processes. */
export function hostTime(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}
