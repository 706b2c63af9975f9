import type { IncomingMessage, ServerResponse } from 'node:http';
import { oauthErrorOf } from '../auth/tokens/refusals.ts';
import { isRdcpError, RdcpError } from '../errors.ts';
import { HEADERS, JSON_MEDIA_TYPE, PROTOCOL } from '../protocol/constants.ts';
import type { ErrorResponse, OAuthErrorResponse, TenantContext } from '../protocol/messages.ts';
import { hostPolicyOf } from './host-policy.ts';
import { isOAuth } from './oauth-endpoint.ts';

/** An error as it is sent. */
export interface ErrorAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ErrorResponse | OAuthErrorResponse;
}

interface ErrorContext {
  /** Of the answer, where it is not the code's own. */
  readonly status?: number | undefined;
  /** In answers to an authenticated request in multi-tenant mode. */
  readonly tenant?: TenantContext | undefined;
}

/**
 * An error in the form of the endpoint that was asked; in RDCP's where that is not known. Nothing but what the error shows to
 * the client goes in.
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
 * RFC 6749, section 5.2. What OAuth itself refuses is 400, and 401 where the client is not who it says; what HTTP refuses, or
 * what this server cannot do now, keeps its status. A challenge belongs to 401 alone: clients that find one read no further,
 * so it has the code too.
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

/** What `error_description` must not have in it. */
const NOT_DESCRIPTIVE = /[^\x20\x21\x23-\x5b\x5d-\x7e]/g;

function unstatedError(status: number): string {
  if (status === 401) return 'invalid_client';
  return status === 429 || status >= 500 ? 'temporarily_unavailable' : 'invalid_request';
}

/** What was not meant for the client becomes a plain server error. */
export function toRdcpError(error: unknown): RdcpError {
  return isRdcpError(error)
    ? error
    : new RdcpError('RDCP_SERVER_ERROR', 'The server failed to handle the request', { cause: error });
}

/** Headers that every answer carries. Answers tell of a moment and of one identity, so no cache may keep them. */
export const ANSWER_HEADERS = [
  [HEADERS.protocol, PROTOCOL],
  ['Cache-Control', 'no-store'],
  ['Vary', 'Accept'],
  ['X-Content-Type-Options', 'nosniff'],
] as const;

/** RFC 6797. A year, as the preload lists ask; sub-domains are not ours to decide on. */
const STRICT_TRANSPORT_SECURITY = 'max-age=31536000';

/** Gives an answer the headers that all carry. */
export function setAnswerHeaders(req: IncomingMessage, res: ServerResponse): void {
  for (const [name, value] of ANSWER_HEADERS) res.setHeader(name, value);
  const https = 'encrypted' in req.socket || hostPolicyOf(req)?.schemes.includes('https') === true;
  if (https) res.setHeader('Strict-Transport-Security', STRICT_TRANSPORT_SECURITY);
}

export function contentType(mediaType: string = JSON_MEDIA_TYPE): string {
  return `${mediaType}; charset=utf-8`;
}
