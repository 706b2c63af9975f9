import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Http2Session } from 'node:http2';
import type { Duplex } from 'node:stream';
import { oauthErrorOf } from '../access/tokens/token-call.ts';
import { HEADERS, JSON_MEDIA_TYPE, PROTOCOL } from '../wire/constants.ts';
import type { RdcpError } from '../wire/errors.ts';
import { given } from '../wire/json-text.ts';
import type { ErrorResponse, TenantContext } from '../wire/messages.ts';
import type { OAuthErrorResponse } from '../wire/oauth-messages.ts';
import { REFUSALS } from '../wire/refusals.ts';
import { withDeadline } from '../wire/time/deadline.ts';
import { discard, endConnection, factsOf, http2Stream, isArriving } from './request.ts';

/** How long to wait for the rest of a body, in milliseconds. */
const REST_OF_BODY_MS = 500;
/** A new HTTP/2 connection costs a TLS handshake, which is more than some refusals cost. */
const REFUSALS_PER_SESSION = 10;

const refusalsOf = new WeakMap<Http2Session, number>();

/**
 * Closes the connection after refusing an unauthenticated request on our own listener. A flooding client must then
 * reconnect and queue with others, and cannot fill every turn of the event loop.
 */
export async function endWithRefusal(req: IncomingMessage, res: ServerResponse): Promise<void> {
  if (factsOf(req)?.policy === undefined) return;
  const session = http2Stream(res)?.session;
  if (session === undefined) return endWithAnswer(req, res);
  const refused = (refusalsOf.get(session) ?? 0) + 1;
  refusalsOf.set(session, refused);
  if (refused >= REFUSALS_PER_SESSION) await endWithAnswer(req, res);
}

/** Closes the connection after this answer, except that of a trusted proxy, which carries requests of other clients. */
export async function endWithAnswer(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const { proxied, policy } = factsOf(req) ?? {};
  if (proxied === true) return;
  const session = http2Stream(res)?.session;
  if (session !== undefined) {
    if (policy !== undefined) res.once('finish', () => session.close());
    return;
  }
  // Closing a connection with unread data resets it, and the client would not see the answer.
  if (isArriving(req)) await withDeadline(discard(req), REST_OF_BODY_MS);
  if (!isArriving(req)) endConnection(res);
}

interface ErrorContext {
  /** Overrides the code's own HTTP status. */
  readonly status?: number | undefined;
  readonly tenant?: TenantContext | undefined;
}

/** Formats an error for its endpoint, or in RDCP's form when the endpoint is unknown, with what it exposes to clients. */
export function errorAnswer(
  req: IncomingMessage | undefined,
  error: RdcpError,
  { status = error.status, tenant }: ErrorContext = {},
) {
  const facts = req && factsOf(req);
  if (facts?.oauth === true) return oauthAnswer(error, status);
  const headers = { ...error.headers, 'Content-Type': contentType(facts?.mediaType) };
  return { status, headers, body: envelope(error, tenant) };
}

/** The error envelope (RDCP 1.0, Errors). */
function envelope({ code, message, method, details }: RdcpError, tenant: TenantContext | undefined): ErrorResponse {
  return {
    protocol: PROTOCOL,
    ...(tenant !== undefined && { tenant }),
    error: { code, message, ...given({ method, details }), protocol: PROTOCOL },
  };
}

/**
 * RFC 6749, section 5.2. OAuth errors are 400, or 401 for a failed client authentication; HTTP errors and server
 * failures keep their status. Only 401 carries a challenge. It includes the code, because some clients read only the
 * challenge.
 */
function oauthAnswer(error: RdcpError, httpStatus: number) {
  const stated = oauthErrorOf(error);
  const code = stated ?? unstatedError(httpStatus);
  const status = code === 'invalid_client' ? 401 : stated === undefined ? httpStatus : 400;
  const description = error.message.replaceAll(NOT_DESCRIPTIVE, '?');
  const { 'WWW-Authenticate': _, ...headers } = error.headers ?? {};
  const challenge = `Basic realm="rdcp", charset="UTF-8", error="${code}", error_description="${description}"`;
  const body: OAuthErrorResponse = { error: code, error_description: description };
  return {
    status,
    // Pragma as in the RFC's own example, for caches of HTTP/1.0.
    headers: {
      ...headers,
      'Content-Type': contentType(),
      Pragma: 'no-cache',
      ...(status === 401 && { 'WWW-Authenticate': challenge }),
    },
    body,
  };
}

/** Characters not allowed in `error_description`. */
const NOT_DESCRIPTIVE = /[^\x20\x21\x23-\x5b\x5d-\x7e]/g;

function unstatedError(status: number): string {
  if (status === 401) return 'invalid_client';
  return status === 429 || status >= 500 ? 'temporarily_unavailable' : 'invalid_request';
}

/** Headers of every answer. Answers depend on time and identity, so they must not be cached. */
export const ANSWER_HEADERS = {
  [HEADERS.protocol]: PROTOCOL,
  'Cache-Control': 'no-store',
  Vary: 'Accept',
  'X-Content-Type-Options': 'nosniff',
};

export function contentType(mediaType: string = JSON_MEDIA_TYPE): string {
  return `${mediaType}; charset=utf-8`;
}

interface RawRefusal {
  readonly error: RdcpError;
  readonly requestId: string;
  /** Overrides the code's own HTTP status. */
  readonly status?: number | undefined;
}

export function arrivedTooSlowly() {
  return { error: REFUSALS.slowArrival(), status: 408 };
}

/**
 * Answers on the raw connection when Node refuses a request before any handler runs, and closes the connection.
 * @param req the incomplete request, if its header arrived. Without one, the client is not known to prefer any media type
 */
export function answerRaw(socket: Duplex, refusal: RawRefusal, req?: IncomingMessage): void {
  const { status, body, headers } = written(refusal, req);
  const lines = Object.entries({ ...headers, Connection: 'close' }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`, () =>
    socket.destroy(),
  );
}

export function answerResponse(res: ServerResponse, refusal: RawRefusal): void {
  const { status, body, headers } = written(refusal, res.req);
  res.statusCode = status;
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
  endConnection(res);
  res.end(body);
}

function written({ error, requestId, status: stated }: RawRefusal, req: IncomingMessage | undefined) {
  const { status, headers, body } = errorAnswer(req, error, { status: stated });
  const text = JSON.stringify(body);
  return {
    status,
    body: text,
    headers: {
      ...ANSWER_HEADERS,
      [HEADERS.requestId]: requestId,
      ...headers,
      'Content-Length': Buffer.byteLength(text),
    },
  };
}
