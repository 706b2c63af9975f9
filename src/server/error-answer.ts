import { isRdcpError, RdcpError } from '../errors.ts';
import { HEADERS, JSON_MEDIA_TYPE, PROTOCOL } from '../protocol/constants.ts';
import type { ErrorResponse, TenantContext } from '../protocol/messages.ts';

/**
 * The error envelope (RDCP 1.0, Errors). Nothing but what the error shows to the client goes in.
 * @param tenant in answers to an authenticated request in multi-tenant mode
 */
export function errorResponse({ code, message, method, details }: RdcpError, tenant?: TenantContext): ErrorResponse {
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

export function contentType(mediaType: string = JSON_MEDIA_TYPE): string {
  return `${mediaType}; charset=utf-8`;
}

/** A service that is going away, or cannot reach what it needs. */
export function unavailable(message: string, cause?: unknown): RdcpError {
  return new RdcpError('RDCP_UNAVAILABLE', message, { headers: { 'Retry-After': '1' }, cause });
}
