import { ERROR_STATUS, type ErrorCode } from '../errors.ts';

/** The code that an error response stands for. What the server sent comes first, its HTTP status last. */
export function knownCode(code: string | undefined, status: number): ErrorCode {
  if (code !== undefined && isErrorCode(code)) return code;
  const meant = code === undefined ? undefined : CODE_OF_OAUTH_ERROR.get(code);
  if (meant !== undefined) return meant;
  const exact = CODE_OF_STATUS.get(status);
  if (exact !== undefined) return exact;
  return status >= 500 ? 'RDCP_SERVER_ERROR' : 'RDCP_MALFORMED_REQUEST';
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERROR_STATUS, code);
}

/** OAuth error codes that are more specific than the HTTP status. */
const CODE_OF_OAUTH_ERROR: ReadonlyMap<string, ErrorCode> = new Map([
  ['invalid_client', 'RDCP_AUTH_FAILED'],
  ['invalid_grant', 'RDCP_AUTH_FAILED'],
  ['invalid_scope', 'RDCP_FORBIDDEN'],
  ['unauthorized_client', 'RDCP_FORBIDDEN'],
]);

/** For responses without a known code. If several codes share a status, the most general one. */
const CODE_OF_STATUS: ReadonlyMap<number, ErrorCode> = new Map([
  [401, 'RDCP_AUTH_FAILED'],
  [403, 'RDCP_FORBIDDEN'],
  [404, 'RDCP_NOT_FOUND'],
  [405, 'RDCP_METHOD_NOT_ALLOWED'],
  [406, 'RDCP_MEDIA_NOT_ACCEPTABLE'],
  [408, 'RDCP_TIMEOUT'],
  [413, 'RDCP_REQUEST_TOO_LARGE'],
  [415, 'RDCP_MEDIA_UNSUPPORTED'],
  [429, 'RDCP_RATE_LIMITED'],
  [502, 'RDCP_UNAVAILABLE'],
  [503, 'RDCP_UNAVAILABLE'],
  [504, 'RDCP_TIMEOUT'],
]);
