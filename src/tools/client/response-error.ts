import { ERROR_STATUS, type ErrorCode, RdcpError } from '../../wire/errors.ts';
import { given, isObject } from '../../wire/json-text.ts';

/** The parts of an error response. */
export interface ResponseFacts {
  /** Address of the server, for the message. @default none */
  readonly base?: string;
  /** HTTP status of the response. */
  readonly status: number;
  /** Id of the request (`X-RDCP-Request-ID`). */
  readonly requestId: string;
  /** The parsed body, or `undefined` if it is not JSON. */
  readonly body: unknown;
  /** The `Retry-After` header. */
  readonly retryAfter: string | null;
  /** Whether an OAuth endpoint was asked, whose errors have another form (RFC 6749, section 5.2). @default false */
  readonly oauth?: boolean;
}

/**
 * An error response. `code` is always an {@link ErrorCode}: if the server sent another code (`serverCode`) or no RDCP error,
 * it is derived from the HTTP status. Errors of the OAuth endpoints have the OAuth code in `details.error`, such as
 * `invalid_grant` for a session that has ended.
 */
export class RdcpResponseError extends RdcpError {
  /** The RDCP or OAuth error code that the server sent; `undefined` if it sent none, such as a proxy's error page. */
  readonly serverCode: string | undefined;
  /** The request id. Retrying a control with the same id does not apply it twice. */
  readonly requestId: string;
  readonly #status: number;

  constructor({ base, status, requestId, body, retryAfter, oauth = false }: ResponseFacts) {
    const { code, message, method, details } = (oauth ? oauthError(body) : undefined) ?? envelope(body);
    const server = `The server${base === undefined ? '' : ` at ${base}`}`;
    super(knownCode(code, status), message ?? `${server} answered ${status} without an RDCP error`, {
      ...given({ details, method }),
      ...(retryAfter !== null && { headers: { 'Retry-After': retryAfter } }),
    });
    this.serverCode = code;
    this.requestId = requestId;
    this.#status = status;
  }

  /** The HTTP status of the response. */
  override get status(): number {
    return this.#status;
  }
}

interface Envelope {
  readonly code?: string | undefined;
  readonly message?: string | undefined;
  readonly method?: string | undefined;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

/** The fields of the error envelope; a field of the wrong type is ignored. */
function envelope(body: unknown): Envelope {
  const { code, message, method, details }: Record<string, unknown> =
    isObject(body) && isObject(body.error) ? body.error : {};
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
  return { code: text(code), message: text(message), method: text(method), ...(isObject(details) && { details }) };
}

/** An error of an OAuth endpoint (RFC 6749, section 5.2). */
function oauthError(body: unknown): Envelope | undefined {
  if (!isObject(body) || typeof body.error !== 'string') return undefined;
  const { error: code, error_description: description } = body;
  const message = typeof description === 'string' ? description : `The server refused the request: ${code}`;
  return { code, message, details: { error: code } };
}

/** The code that an error response stands for. The server's text comes first, its HTTP status last. */
function knownCode(code = '', status: number): ErrorCode {
  if (Object.hasOwn(ERROR_STATUS, code)) return code as ErrorCode;
  const known = CODE_OF_OAUTH_ERROR.get(code) ?? CODE_OF_STATUS.get(status);
  return known ?? (status >= 500 ? 'RDCP_SERVER_ERROR' : 'RDCP_MALFORMED_REQUEST');
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
