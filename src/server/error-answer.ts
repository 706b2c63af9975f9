import type { IncomingMessage, ServerResponse } from 'node:http';
import { oauthErrorOf } from '../auth/tokens/refusals.ts';
import { isRdcpError, RdcpError } from '../errors.ts';
import { HEADERS, PROTOCOL } from '../protocol/constants.ts';
import type { ErrorResponse, OAuthErrorResponse, TenantContext } from '../protocol/messages.ts';
import { hostPolicyOf } from './middleware/host-and-origin.ts';
import { isOAuth } from './oauth-endpoint.ts';

/** An error as it is sent. */
export interface ErrorAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ErrorResponse | OAuthErrorResponse;
}

interface ErrorContext {
  /** Overrides the code's own HTTP status. */
  readonly status?: number | undefined;
  /** In answers to authenticated requests in multi-tenant mode. */
  readonly tenant?: TenantContext | undefined;
}

/**
 * Formats an error for its endpoint, or in RDCP's form when the endpoint is unknown. It contains only what the error
 * exposes to clients.
 */
export function errorAnswer(
  req: IncomingMessage | undefined,
  error: RdcpError,
  { status = error.status, tenant }: ErrorContext = {},
): ErrorAnswer {
  if (req !== undefined && isOAuth(req)) return oauthAnswer(error, status);
  return { status, headers: error.headers ?? {}, body: envelope(error, tenant) };
}

/** The error envelope (RDCP 1.0, Errors). */
function envelope({ code, message, method, details }: RdcpError, tenant: TenantContext | undefined): ErrorResponse {
  return {
    protocol: PROTOCOL,
    ...(tenant !== undefined && { tenant }),
    error: {
      code,
      message,
      ...(method !== undefined && { method }),
      ...(details !== undefined && { details }),
      protocol: PROTOCOL,
    },
  };
}

/**
 * RFC 6749, section 5.2. OAuth errors are 400, or 401 for a failed client authentication; HTTP errors and server
 * failures keep their status. Only 401 carries a challenge. It includes the code, because some clients read only the
 * challenge.
 */
function oauthAnswer(error: RdcpError, httpStatus: number): ErrorAnswer {
  const stated = oauthErrorOf(error);
  const code = stated ?? unstatedError(httpStatus);
  const status = code === 'invalid_client' ? 401 : stated === undefined ? httpStatus : 400;
  const description = error.message.replaceAll(NOT_DESCRIPTIVE, '?');
  const { 'WWW-Authenticate': _, ...headers } = error.headers ?? {};
  const challenge = `Basic realm="rdcp", charset="UTF-8", error="${code}", error_description="${description}"`;
  return {
    status,
    // Pragma as in the RFC's own example, for caches of HTTP/1.0.
    headers: { ...headers, Pragma: 'no-cache', ...(status === 401 && { 'WWW-Authenticate': challenge }) },
    body: { error: code, error_description: description },
  };
}

/** Characters not allowed in `error_description`. */
const NOT_DESCRIPTIVE = /[^\x20\x21\x23-\x5b\x5d-\x7e]/g;

function unstatedError(status: number): string {
  if (status === 401) return 'invalid_client';
  return status === 429 || status >= 500 ? 'temporarily_unavailable' : 'invalid_request';
}

/** Converts an error not meant for the client to a plain server error. */
export function toRdcpError(error: unknown): RdcpError {
  return isRdcpError(error)
    ? error
    : new RdcpError('RDCP_SERVER_ERROR', 'The server failed to handle the request', { cause: error });
}

/** Headers of every answer. Answers depend on time and identity, so they must not be cached. */
export const ANSWER_HEADERS = [
  [HEADERS.protocol, PROTOCOL],
  ['Cache-Control', 'no-store'],
  ['Vary', 'Accept'],
  ['X-Content-Type-Options', 'nosniff'],
] as const;

/** RFC 6797. One year, as the preload lists require; sub-domains are the owner's decision. */
const STRICT_TRANSPORT_SECURITY = 'max-age=31536000';

/** Sets the headers of every answer. */
export function setAnswerHeaders(req: IncomingMessage, res: ServerResponse): void {
  for (const [name, value] of ANSWER_HEADERS) res.setHeader(name, value);
  const https = 'encrypted' in req.socket || hostPolicyOf(req)?.schemes.includes('https') === true;
  if (https) res.setHeader('Strict-Transport-Security', STRICT_TRANSPORT_SECURITY);
}
