import { isRdcpError, RdcpResponseError } from '../../../client.ts';
import { messageOf } from '../../../wire/thrown.ts';
import { askedForMs } from '../../client/passing.ts';

/** An error in words for the reader of the page. */
export interface Problem {
  /** Of the answer; without one the server is offline, or the page itself failed. */
  readonly status: number | 'offline' | 'failed';
  readonly title: string;
  /** The server's message. */
  readonly detail?: string;
  /** When it is worth trying again, in milliseconds since the epoch. */
  readonly retryAt?: number;
}

const TITLES: Readonly<Record<number, string>> = {
  401: 'The credential was not accepted',
  403: 'Your credential does not allow this',
  404: 'The server does not have this',
  409: 'Not now',
  429: 'Too many requests',
  503: 'The server cannot do this now',
  504: 'The server did not answer in time',
};

/** @param now milliseconds since the epoch, to which `Retry-After` is added */
export function problemOf(error: unknown, now: number): Problem {
  if (!isRdcpError(error)) return { status: 'failed', title: 'This page failed', detail: messageOf(error) };
  const { status, message: detail } = error;
  if (status === 503 && !(error instanceof RdcpResponseError)) {
    return { status: 'offline', title: 'The server cannot be reached' };
  }
  const pauseMs = askedForMs(error, now);
  const title = TITLES[status] ?? (status >= 500 ? 'The server failed' : 'The server did not accept the request');
  return { status, title, detail, ...(pauseMs !== undefined && { retryAt: now + pauseMs }) };
}
