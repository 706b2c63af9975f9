import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Middleware } from 'koa';
import { oauthErrorOf } from '../auth/tokens/refusals.ts';
import { type RdcpError, toRdcpError } from '../errors.ts';
import { HEADERS, JSON_MEDIA_TYPE, PROTOCOL } from '../protocol/constants.ts';
import type { ErrorResponse, TenantContext } from '../protocol/messages.ts';
import type { OAuthErrorResponse } from '../protocol/oauth-messages.ts';
import type { Addressing } from '../tenancy/address.ts';
import { endWithAnswer, endWithRefusal } from './last-answer.ts';
import { requestIdOf } from './middleware/headers.ts';
import { hostPolicyOf } from './middleware/host-and-origin.ts';
import { isOAuth } from './oauth-endpoint.ts';
import type { Refusals } from './refusals.ts';
import { contentType, type RequestState } from './steps.ts';

/**
 * The outermost step: sets the headers of every answer, and converts every exception to the endpoint's error format.
 * Koa's own handler, which strips headers and answers in plain text, never sees an error.
 */
export function errorBoundary({
  randomUUID,
  refusals,
  addressing,
  report,
}: {
  randomUUID: () => string;
  refusals: Refusals;
  addressing: Addressing;
  report: (error: unknown) => void;
}): Middleware<RequestState> {
  return async (ctx, next) => {
    const given = requestIdOf(ctx.req);
    ctx.state = {
      requestId: given ?? randomUUID(),
      requestIdGiven: given !== undefined,
      mediaType: JSON_MEDIA_TYPE,
      expired: false,
      extend: undefined,
      refusalRepeated: false,
    };
    setAnswerHeaders(ctx.req, ctx.res);
    try {
      await next();
    } catch (thrown) {
      const error = toRdcpError(thrown);
      // A server fault, which only its owner can fix.
      if (error.code === 'RDCP_SERVER_ERROR') report(thrown);
      refusals.note(ctx, error);
      const { tenant } = ctx.state.tenancy ?? addressing.own(ctx.state.principal);
      if (error.code === 'RDCP_RATE_LIMITED') await endWithAnswer(ctx.req, ctx.res);
      else if (ctx.state.principal === undefined && error.status < 500) await endWithRefusal(ctx.req, ctx.res);
      const { status, headers, body } = errorAnswer(ctx.req, error, { tenant });
      ctx.set({ ...headers });
      ctx.set('Content-Type', contentType(isOAuth(ctx.req) ? JSON_MEDIA_TYPE : ctx.state.mediaType));
      ctx.status = status;
      ctx.body = JSON.stringify(body);
    }
    if (!ctx.res.headersSent) ctx.res.setHeader(HEADERS.requestId, ctx.state.requestId);
  };
}

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
