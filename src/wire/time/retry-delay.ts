/** Pause after the first failure, in milliseconds. */
const FIRST_MS = 1000;

export interface Failures {
  readonly failures: number;
  readonly longestMs: number;
  /** The server's `Retry-After`, as time from now in milliseconds. */
  readonly askedForMs?: number | undefined;
  /** A number from 0 to 1, which spreads the attempts of several clients. */
  readonly random: number;
}

/** Returns the pause before the next attempt, in milliseconds: doubled with each failure, and spread. */
export function retryDelay({ failures, longestMs, askedForMs = 0, random }: Failures): number {
  const doubled = Math.min(longestMs, FIRST_MS * 2 ** Math.min(failures - 1, 20));
  return Math.max(askedForMs, doubled * (0.5 + random / 2));
}

/** `Retry-After` as time from now in milliseconds: a number of seconds, or a date (RFC 9110, section 10.2.3). */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  const milliseconds = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isNaN(milliseconds) ? undefined : milliseconds;
}
