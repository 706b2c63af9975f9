import { isRdcpError } from '../../wire/errors.ts';

const PASSING: ReadonlySet<string> = new Set(['RDCP_UNAVAILABLE', 'RDCP_TIMEOUT', 'RDCP_RATE_LIMITED']);

/** Whether an error passes by itself: the service restarts or is slow, the connection broke, or too many ask. */
export function isPassing(error: unknown): boolean {
  return isRdcpError(error) && PASSING.has(error.code);
}

/** `Retry-After` is a number of seconds or a date (RFC 9110, section 10.2.3). @param now milliseconds since the epoch */
export function askedForMs(error: unknown, now: number): number | undefined {
  const header = isRdcpError(error) ? error.headers?.['Retry-After'] : undefined;
  if (header === undefined) return undefined;
  const milliseconds = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isNaN(milliseconds) ? undefined : milliseconds;
}
