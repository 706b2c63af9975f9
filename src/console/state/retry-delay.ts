/** Longest pause between two attempts, in milliseconds. */
const LONGEST_MS = 30_000;

export interface Failure {
  /** Attempts in a row that failed, from 1. */
  readonly failures: number;
  /** The server's `Retry-After`, as time from now in milliseconds. */
  readonly askedForMs?: number | undefined;
}

/**
 * How long to wait before the next attempt, in milliseconds: doubled with each failure, and spread, so that the pages of
 * everybody do not come back at once.
 * @param random between 0 and 1
 */
export function retryDelay({ failures, askedForMs = 0 }: Failure, random: number): number {
  const doubled = Math.min(LONGEST_MS, 500 * 2 ** Math.min(failures, 16));
  return Math.max(askedForMs, doubled * (0.5 + random / 2));
}
