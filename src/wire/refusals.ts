import type { AuthMethod } from './constants.ts';
import { JSON_MEDIA_TYPE, PROTOCOL, RDCP_MEDIA_TYPE } from './constants.ts';
import { type ErrorCode, RdcpError, type RdcpErrorOptions, unavailable } from './errors.ts';

const error = (code: ErrorCode, message: string, options?: RdcpErrorOptions) => new RdcpError(code, message, options);

const retryAfter = (seconds: number) => ({ 'Retry-After': String(seconds) });

/**
 * The errors of requests: code, message, and what else a client gets. The status is that of the code. The errors of credentials are
 * in access/refusal.ts, beside their challenges, and those of changes in control/, beside their rules.
 */
// biome-ignore format: a table
export const REFUSALS = {
  // The request as it arrives
  notHttp: () => error('RDCP_MALFORMED_REQUEST', 'The request is not valid HTTP'),
  plainHttp: () => error('RDCP_MALFORMED_REQUEST', 'A plain HTTP request was sent to an HTTPS port: use https://'),
  noProxy: () => error('RDCP_METHOD_NOT_ALLOWED', 'This server is not a proxy', { headers: { Allow: '' } }),
  longHeader: (most: number) =>
    error('RDCP_REQUEST_TOO_LARGE', `The header of a request must be at most ${most} bytes`),
  manyFields: (most: number) => error('RDCP_MALFORMED_REQUEST', `The request has more than ${most} header fields`),
  slowArrival: () => error('RDCP_TIMEOUT', 'The request took too long to arrive'),
  timeout: (seconds: number) => error('RDCP_TIMEOUT', `The request took longer than ${seconds} seconds`),
  closing: () => unavailable('The server is shutting down', undefined, 1),

  // Who may send it, and whence
  noHost: () => error('RDCP_MALFORMED_REQUEST', 'Host must be a host name and a port'),
  foreignHost: () =>
    error('RDCP_FORBIDDEN', 'This host name is not allowed: add it to server.allowedHosts if clients should use it',
      { details: { field: 'Host', option: 'server.allowedHosts' } }),
  foreignScheme: (scheme: string) => error('RDCP_FORBIDDEN', `This server does not answer for ${scheme} here`),
  foreignOrigin: () => error('RDCP_FORBIDDEN', 'Requests from other origins are not accepted'),
  foreignSite: () => error('RDCP_FORBIDDEN', 'Requests from other sites are not accepted'),
  notLoopback: () =>
    error('RDCP_FORBIDDEN', 'Without a configured credential only loopback is served',
      { details: { option: 'security.apiKeys' } }),
  notLocal: () =>
    error('RDCP_FORBIDDEN', 'One-time codes are for browsers on the machine of the service',
      { details: { reason: 'not_local' } }),
  twoCredentials: () => error('RDCP_MALFORMED_REQUEST', 'The request carries two credentials'),
  rateLimited: (limit: number, windowSeconds: number, retryAfterSeconds: number) =>
    error('RDCP_RATE_LIMITED', `More than ${limit} requests in ${windowSeconds} seconds`,
      { details: { limit, windowSeconds, retryAfterSeconds }, headers: retryAfter(retryAfterSeconds) }),
  manyStreams: (limit: number, name: string, whose: string) =>
    error('RDCP_RATE_LIMITED', `${limit} ${name} ${whose} are open already`,
      { details: { limit }, headers: retryAfter(5) }),
  tenantMismatch: (method: AuthMethod, message: string, scopes?: object) =>
    error('RDCP_FORBIDDEN', message, { method, details: { reason: 'tenant_mismatch', ...scopes } }),

  // What it asks for
  noResource: () => error('RDCP_NOT_FOUND', 'There is no such resource'),
  noFleet: () => error('RDCP_NOT_FOUND', 'This server shares its state with no other process'),
  noChange: (id: string) => error('RDCP_NOT_FOUND', `No change waits with the id ${id}: changes wait 10m`),
  notInstalled: (what: string, cause: unknown) => error('RDCP_NOT_FOUND', `${what} is not installed here`, { cause }),
  noMethod: (allow: string) =>
    error('RDCP_METHOD_NOT_ALLOWED', `This resource allows ${allow}`, { headers: { Allow: allow } }),
  version: () =>
    error('RDCP_VERSION_UNSUPPORTED', `This server speaks ${PROTOCOL}`, { details: { supported: [PROTOCOL] } }),
  notAcceptable: (available: readonly string[] = [JSON_MEDIA_TYPE, RDCP_MEDIA_TYPE]) =>
    error('RDCP_MEDIA_NOT_ACCEPTABLE', `Answers are ${available.join(' or ')}`, { details: { available } }),
  malformed: (field: string, problem: string, details?: object) =>
    error('RDCP_MALFORMED_REQUEST', `${field} ${problem}`, { details: { field, ...details } }),
  malformedQuery: (field: string, problem: string, details?: object) =>
    error('RDCP_MALFORMED_REQUEST', `Query parameter ${field} ${problem}`, { details: { field, ...details } }),

  // Its body
  emptyBody: () => error('RDCP_MALFORMED_REQUEST', 'The body is empty'),
  cutBody: () => error('RDCP_MALFORMED_REQUEST', 'The body ended before its declared length'),
  notUtf8: () => error('RDCP_MALFORMED_REQUEST', 'The body is not valid UTF-8'),
  notJson: () => error('RDCP_MALFORMED_REQUEST', 'The body is not a JSON object, or holds a forbidden field'),
  notForm: () => error('RDCP_MALFORMED_REQUEST', 'The body is not a form of names and values'),
  largeBody: (maximum: number, unit: string) =>
    error('RDCP_REQUEST_TOO_LARGE', `A body may have at most ${maximum} ${unit}`, { details: { maximum } }),
  encoded: () => error('RDCP_MEDIA_UNSUPPORTED', 'Content-Encoding is not supported: send the body as it is'),
  mediaType: (supported: readonly string[]) =>
    error('RDCP_MEDIA_UNSUPPORTED', `A body must be ${supported.join(' or ')}, in UTF-8`, { details: { supported } }),
  malformedBody: (field: string, problem: string) =>
    error('RDCP_MALFORMED_REQUEST', `${field === '' ? 'The body' : field} ${problem}`, { details: { field } }),
  readBefore: (cause: Error) =>
    error('RDCP_SERVER_ERROR', 'The body was read before it reached this endpoint', { cause }),
  unreadable: (member: string, cause: unknown) =>
    error('RDCP_SERVER_ERROR', `Bodies cannot be read since Object.prototype got the enumerable member ${member}`, { cause }),

  // What becomes of it
  noCredential: () =>
    error('RDCP_MALFORMED_REQUEST', 'A code hands over an API key or a token, and this request has neither: open the console without a code',
      { details: { reason: 'no_credential' } }),
  askerChanged: () =>
    error('RDCP_FORBIDDEN', 'The credential that asked for the change was revoked, has ended, or may do something else now',
      { details: { reason: 'asker_changed' } }),
  unaudited: (cause: unknown) =>
    error('RDCP_AUDIT_WRITE_FAILED', 'The request could not be audited, so it was refused', { cause }),
  noTrail: (cause: unknown) => error('RDCP_AUDIT_WRITE_FAILED', 'The audit trail cannot be written now', { cause }),
};
