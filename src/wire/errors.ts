import { codeOf, isError, messageOf } from './thrown.ts';

/**
 * Every error code of this package with its HTTP status (RDCP 1.0, Errors). Codes that are not in the specification's registry
 * follow its form `RDCP_[CONTEXT]_[CONDITION]`. Codes that occur outside of requests, such as `RDCP_CONFIG_INVALID`, have 500.
 */
export const ERROR_STATUS = {
  RDCP_AUTH_REQUIRED: 401,
  RDCP_AUTH_FAILED: 401,
  RDCP_FORBIDDEN: 403,
  RDCP_MALFORMED_REQUEST: 400,
  RDCP_VERSION_UNSUPPORTED: 400,
  RDCP_CATEGORY_NOT_FOUND: 404,
  RDCP_NOT_FOUND: 404,
  RDCP_METHOD_NOT_ALLOWED: 405,
  RDCP_MEDIA_NOT_ACCEPTABLE: 406,
  RDCP_TEMPORARY_LIMIT: 409,
  RDCP_REQUEST_IN_PROGRESS: 409,
  RDCP_REQUEST_TOO_LARGE: 413,
  RDCP_MEDIA_UNSUPPORTED: 415,
  RDCP_REQUEST_ID_REUSED: 422,
  RDCP_RATE_LIMITED: 429,
  RDCP_SERVER_ERROR: 500,
  RDCP_AUDIT_WRITE_FAILED: 500,
  RDCP_UNAVAILABLE: 503,
  RDCP_TIMEOUT: 504,
  RDCP_CONFIG_INVALID: 500,
} as const satisfies Record<string, number>;

/** A stable, public error code. */
export type ErrorCode = keyof typeof ERROR_STATUS;

/** Additional data of an {@link RdcpError}. Everything except `cause` is sent to the client. */
export interface RdcpErrorOptions {
  /** Machine-readable facts: `field`, `unknown`, `maximum`, `reason`, `requiredScopes`, … */
  readonly details?: Readonly<Record<string, unknown>>;
  /** The authentication method of the request (RDCP 1.0, Authentication, rule 4). */
  readonly method?: string;
  /** Headers of the error response: `Retry-After`, `WWW-Authenticate`, `Allow`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The underlying error. It never leaves the process. */
  readonly cause?: unknown;
}

const BRAND = Symbol.for('opentelemetry-instrumentation-rdcp.error');

/**
 * The error type of this package. `message` and `details` are written for the client and contain no credential, no path and
 * no text of a library. The underlying error is in `cause`, which is never sent.
 */
export class RdcpError extends Error {
  /** A stable code, such as `RDCP_CATEGORY_NOT_FOUND`. */
  readonly code: ErrorCode;
  /** Machine-readable facts for the client. `undefined` if there are none. */
  readonly details: Readonly<Record<string, unknown>> | undefined;
  /** Kind of the credential, where authentication failed. */
  readonly method: string | undefined;
  /** Headers of the error response. `undefined` if there are none. */
  readonly headers: Readonly<Record<string, string>> | undefined;

  constructor(code: ErrorCode, message: string, options: RdcpErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'RdcpError';
    this.code = code;
    this.details = options.details;
    this.method = options.method;
    this.headers = options.headers;
    Object.defineProperty(this, BRAND, { value: true });
  }

  /** `instanceof` knows the errors of another copy of this package too: `../tools/client` has one of its own. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: subclasses inherit this
    return this === RdcpError ? isRdcpError(value) : Function.prototype[Symbol.hasInstance].call(this, value);
  }

  /** The HTTP status of {@link RdcpError.code}. */
  get status(): number {
    return ERROR_STATUS[this.code];
  }
}

/** A 503 with `Retry-After`, for a temporary failure. */
export function unavailable(message: string, cause?: unknown, retryAfterSeconds = 5): RdcpError {
  return new RdcpError('RDCP_UNAVAILABLE', message, { headers: { 'Retry-After': String(retryAfterSeconds) }, cause });
}

/** True for an {@link RdcpError}, even of another copy of this package. */
export function isRdcpError(value: unknown): value is RdcpError {
  try {
    return typeof value === 'object' && value !== null && BRAND in value;
  } catch {
    // A proxy of the application.
    return false;
  }
}

/** Converts an error not meant for the client to a plain server error. */
export function toRdcpError(error: unknown): RdcpError {
  return isRdcpError(error)
    ? error
    : new RdcpError('RDCP_SERVER_ERROR', 'The server failed to handle the request', { cause: error });
}

/** An error for a setting, or a file that it names, that cannot be used. The message shows neither a secret nor a path. */
export function invalidSetting(field: string, message: string, cause?: unknown): RdcpError {
  return new RdcpError('RDCP_CONFIG_INVALID', message, { details: { field }, cause });
}

/** @param problem what is wrong with the option `field`, such as `server.port`; follows its name in the message */
export function configurationError(field: string, problem: string, cause?: unknown): RdcpError {
  return invalidSetting(field, `configuration: ${field} ${problem}`, cause);
}

/** The code of an error, such as ` (ECONNREFUSED)`, or the first word of a Redis error: the part of another's error that may be shown, or ''. */
export function failureCode(error: unknown): string {
  if (!isError(error)) return '';
  const code = /^[A-Z][A-Z0-9_]{2,60}$/.exec(codeOf(error) ?? '')?.[0];
  const word = code ?? /^([A-Z]{3,20}) /.exec(messageOf(error))?.[1];
  return word === undefined ? '' : ` (${word})`;
}

/** Marks the error of a commit that has written nothing. After any other but an {@link RdcpError} that is not known. */
export function unwritten(error: unknown): unknown {
  return error instanceof Error ? Object.assign(error, { written: false }) : error;
}

export function isUnwritten(error: unknown): boolean {
  return isRdcpError(error) || (error instanceof Error && 'written' in error && error.written === false);
}

/** A 503 for a change that may have been made, or not. */
export function outcomeUnknown(cause?: unknown): RdcpError {
  const message =
    'The store did not answer, so it is not known whether the change was made: repeat the request with the same X-RDCP-Request-ID';
  return new RdcpError('RDCP_UNAVAILABLE', message, {
    details: { outcome: 'unknown' },
    headers: { 'Retry-After': '5' },
    cause,
  });
}

export function isOutcomeUnknown(error: unknown): boolean {
  return isRdcpError(error) && error.details?.outcome === 'unknown';
}

/** A store is unavailable. The message is one line for the operator, without a path. */
export class StoreOutage extends Error {}

/** Codes of Redis errors that refuse a write: out of memory, replica, cannot save, too few replicas, not permitted. */
const REFUSED_WRITES = [' (OOM)', ' (READONLY)', ' (MISCONF)', ' (NOREPLICAS)', ' (NOPERM)'];

/** Describes a store failure. Used everywhere, so that one outage has one description. */
export function storeProblem(error: unknown): string {
  if (isError(error) && error instanceof StoreOutage) return error.message;
  const code = failureCode(error);
  return `the store ${REFUSED_WRITES.includes(code) ? 'refuses writes' : 'cannot be reached'}${code}`;
}

/** What a setting names cannot be used. The message follows its name, without a path, an address or a quotation. */
export class SettingFault extends Error {}

/** Describes why what a setting names cannot be used, to follow its name. */
export function settingProblem(error: unknown): string {
  return error instanceof SettingFault ? error.message : `cannot be used${failureCode(error)}`;
}
