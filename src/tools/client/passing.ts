import { isRdcpError } from '../../wire/errors.ts';
import { retryAfterMs } from '../../wire/time/retry-delay.ts';

const PASSING: ReadonlySet<string> = new Set(['RDCP_UNAVAILABLE', 'RDCP_TIMEOUT', 'RDCP_RATE_LIMITED']);

/** Whether an error passes by itself: the service restarts or is slow, the connection broke, or too many ask. */
export function isPassing(error: unknown): boolean {
  return isRdcpError(error) && PASSING.has(error.code);
}

/** The pause that the server asks for, from now, in milliseconds. */
export function askedForMs(error: unknown, now: number): number | undefined {
  return retryAfterMs(isRdcpError(error) ? error.headers?.['Retry-After'] : undefined, now);
}
