import { isRdcpError, RdcpResponseError } from '../../client.ts';

/** What went wrong, for the reader of the page. */
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
  /** What the server said of it. */
  readonly detail?: string;
  /** When it is worth trying again, in milliseconds since the epoch. */
  readonly retryAt?: number;
}

const OF_CODE: Readonly<Record<string, readonly [Problem['kind'], string]>> = {
  RDCP_AUTH_REQUIRED: ['unauthenticated', 'A credential is needed'],
  RDCP_AUTH_FAILED: ['unauthenticated', 'The credential was not accepted'],
  RDCP_FORBIDDEN: ['forbidden', 'Your credential does not allow this'],
  RDCP_NOT_FOUND: ['not-found', 'This server does not have it'],
  RDCP_CATEGORY_NOT_FOUND: ['not-found', 'There is no such category'],
  RDCP_TEMPORARY_LIMIT: ['conflict', 'Too many temporary controls at once'],
  RDCP_REQUEST_IN_PROGRESS: ['conflict', 'The same request is still in progress'],
  RDCP_REQUEST_ID_REUSED: ['conflict', 'The request was changed after it was sent'],
  RDCP_RATE_LIMITED: ['rate-limited', 'Too many requests'],
  RDCP_TIMEOUT: ['no-answer', 'The server did not answer in time'],
  RDCP_AUDIT_WRITE_FAILED: ['failed', 'Not done: the audit trail could not be written'],
  RDCP_SERVER_ERROR: ['failed', 'The server failed'],
};

/** @param now milliseconds since the epoch, to which `Retry-After` is added */
export function problemOf(error: unknown, now: number): Problem {
  if (!isRdcpError(error)) return { kind: 'failed', title: 'This page failed', detail: messageOf(error) };
  const retryAt = retryTime(error.headers?.['Retry-After'], now);
  const rest = { detail: error.message, ...(retryAt !== undefined && { retryAt }) };
  if (error.code === 'RDCP_UNAVAILABLE') {
    return error instanceof RdcpResponseError
      ? { kind: 'unavailable', title: 'The server cannot do this now', ...rest }
      : { kind: 'offline', title: 'The server cannot be reached' };
  }
  if (error.code === 'RDCP_TIMEOUT' && !(error instanceof RdcpResponseError)) {
    return { kind: 'no-answer', title: 'The server did not answer in time' };
  }
  const [kind, title] = OF_CODE[error.code] ?? ['invalid', 'The server did not accept the request'];
  return { kind, title, ...rest };
}

/** `Retry-After` is a number of seconds or a date (RFC 9110, section 10.2.3). */
function retryTime(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  const at = /^\d{1,9}$/.test(header) ? now + Number(header) * 1000 : Date.parse(header);
  return Number.isNaN(at) ? undefined : at;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
