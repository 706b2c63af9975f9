/** Numbers of things in equal parts of a time, in milliseconds since the epoch. */
export interface Buckets {
  readonly from: number;
  readonly to: number;
  readonly counts: readonly number[];
}

const BARS = 80;

/**
 * Counts times in equal parts, from the first to the last of them, which are at least a second apart.
 * @param until the end. @default the last time
 */
export function bucketsOf(times: readonly number[], until = Number.NEGATIVE_INFINITY): Buckets {
  const known = times.filter((time) => !Number.isNaN(time));
  if (known.length === 0) return { from: 0, to: 0, counts: [] };
  const from = known.reduce((first, time) => Math.min(first, time));
  const to = known.reduce((last, time) => Math.max(last, time), Math.max(until, from + 1000));
  const counts = new Array<number>(BARS).fill(0);
  for (const time of known) {
    const at = Math.min(BARS - 1, Math.floor(((time - from) / (to - from)) * BARS));
    counts[at] = (counts[at] ?? 0) + 1;
  }
  return { from, to, counts };
}
