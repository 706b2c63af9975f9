import { isRdcpError, RdcpResponseError } from '../../../client.ts';
import { askedForMs } from '../../client/passing.ts';

/** An error in words for the reader of the page. */
export interface Problem {
  readonly kind:
    | 'offline'
    | 'no-answer'
    | 'unauthenticated'
    | 'forbidden'
    | 'not-found'
    | 'conflict'
    | 'invalid'
    | 'rate-limited'
    | 'unavailable'
    | 'failed';
  readonly title: string;
  /** The server's message. */
  readonly detail?: string;
  /** When it is worth trying again, in milliseconds since the epoch. */
  readonly retryAt?: number;
}

const OF_STATUS: Readonly<Record<number, readonly [Problem['kind'], string]>> = {
  401: ['unauthenticated', 'The credential was not accepted'],
  403: ['forbidden', 'Your credential does not allow this'],
  404: ['not-found', 'The server does not have this'],
  409: ['conflict', 'Not now'],
  429: ['rate-limited', 'Too many requests'],
  503: ['unavailable', 'The server cannot do this now'],
  504: ['no-answer', 'The server did not answer in time'],
};

/** @param now milliseconds since the epoch, to which `Retry-After` is added */
export function problemOf(error: unknown, now: number): Problem {
  if (!isRdcpError(error)) return { kind: 'failed', title: 'This page failed', detail: messageOf(error) };
  const pauseMs = askedForMs(error, now);
  const rest = { detail: error.message, ...(pauseMs !== undefined && { retryAt: now + pauseMs }) };
  if (error.status === 503 && !(error instanceof RdcpResponseError)) {
    return { kind: 'offline', title: 'The server cannot be reached' };
  }
  const failed = error.status >= 500 ? (['failed', 'The server failed'] as const) : undefined;
  const [kind, title] = OF_STATUS[error.status] ?? failed ?? ['invalid', 'The server did not accept the request'];
  return { kind, title, ...rest };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
