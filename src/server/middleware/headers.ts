import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../clock.ts';
import { RdcpError } from '../../errors.ts';
import {
  EVENT_STREAM_MEDIA_TYPE,
  HEADERS,
  JSON_MEDIA_TYPE,
  MAX_CLOCK_SKEW_MS,
  PROTOCOL,
  RDCP_MEDIA_TYPE,
  REQUEST_HEADERS,
} from '../../protocol/constants.ts';
import { isIdentifier } from '../../protocol/names.ts';
import { timestamp } from '../../protocol/time.ts';
import { rawPath, versionUnsupported } from '../request-target.ts';
import { contentType, type Step } from '../steps.ts';

/** The value of a single-valued header. {@link singleHeaders} has refused duplicates. */
export function header(req: IncomingMessage, name: Lowercase<string>): string | undefined {
  return req.headersDistinct[name]?.[0];
}

/** The client's request id, if it sent a valid one. */
export function requestIdOf(req: IncomingMessage): string | undefined {
  const [given, ...more] = req.headersDistinct[REQUEST_HEADERS.requestId] ?? [];
  return given !== undefined && more.length === 0 && isIdentifier(given) ? given : undefined;
}

/**
 * Some Node releases silently drop fields beyond their own limit, and a dropped tenant header would change a request's
 * meaning. Their limit is higher than this one, so nothing is dropped unnoticed.
 */
export const MAX_HEADER_FIELDS = 100;

/** Headers whose duplicates a proxy in front might interpret differently. */
const SINGLE = [...Object.values(HEADERS), 'Host', 'Origin', 'Content-Type', 'Content-Encoding', 'Date'].map(
  (name) => ({ name, key: name.toLowerCase() }),
);

/**
 * Refuses duplicates of single-valued headers. (The authenticator checks credentials.)
 * @param judgedLater headers for which a later step has a better error
 */
export function singleHeaders(judgedLater: readonly string[] = []): Step {
  const single = SINGLE.filter(({ name }) => !judgedLater.includes(name));
  return (ctx) => {
    const { rawHeaders, headersDistinct: headers } = ctx.req;
    if (rawHeaders.length > 2 * MAX_HEADER_FIELDS) {
      throw new RdcpError('RDCP_MALFORMED_REQUEST', `The request has more than ${MAX_HEADER_FIELDS} header fields`);
    }
    // All field names are distinct, so there are no duplicates.
    if (2 * Object.keys(headers).length === rawHeaders.length) return;
    for (const { name, key } of single) {
      if ((headers[key]?.length ?? 0) > 1) throw malformed(name, 'was sent more than once');
    }
  };
}

/**
 * Refuses malformed identifiers before authentication, so that the error reveals nothing about tenants. A request with
 * a malformed id keeps its generated one. The client id header grants nothing: identity comes from the credential.
 */
export function identifiers(): Step {
  return (ctx) => {
    for (const key of ['requestId', 'clientId', 'tenantId'] as const) {
      const values = ctx.req.headersDistinct[REQUEST_HEADERS[key]];
      if (values === undefined || values.every(isIdentifier)) continue;
      throw malformed(HEADERS[key], 'must be 1 to 255 of a-z A-Z 0-9 . _ -');
    }
  };
}

/** Refuses a client that states another version of the protocol. */
export function protocolVersion(): Step {
  return (ctx) => {
    const stated = header(ctx.req, REQUEST_HEADERS.protocol);
    if (stated !== undefined && stated !== PROTOCOL) throw versionUnsupported();
  };
}

/** Refuses a request whose `Date` is too far from the server's clock. */
export function clockSkew(clock: Pick<Clock, 'now'>): Step {
  return (ctx) => {
    const date = header(ctx.req, 'date');
    if (date === undefined) return;
    const sentAt = parseHttpDate(date);
    if (sentAt === undefined) throw malformed('Date', 'must be an HTTP date such as Sun, 06 Nov 1994 08:49:37 GMT');
    const now = clock.now();
    if (Math.abs(now - sentAt) > MAX_CLOCK_SKEW_MS) {
      throw malformed('Date', 'is more than 5 minutes away from the clock of this server', {
        reason: 'clock_skew',
        serverTime: timestamp(now),
      });
    }
  };
}

/** The three forms of RFC 9110, section 5.6.7. The asctime form has no zone and means UTC. */
function parseHttpDate(value: string): number | undefined {
  if (!/^[A-Z][a-z]{2,8},? [A-Za-z0-9: -]{15,}$/.test(value)) return undefined;
  const epochMs = Date.parse(value.endsWith(' GMT') ? value : `${value} GMT`);
  return Number.isNaN(epochMs) ? undefined : epochMs;
}

/** As in answers, so that ranges with a charset match too. */
const AVAILABLE = [JSON_MEDIA_TYPE, RDCP_MEDIA_TYPE].flatMap((type) => [type, contentType(type)]);
const STREAM = [EVENT_STREAM_MEDIA_TYPE, contentType(EVENT_STREAM_MEDIA_TYPE)];
const VERSIONED = /^application\/vnd\.rdcp\.v\d+\+json$/i;

/**
 * Negotiates the media type of the answer. The error for no acceptable type is `application/json`, as are all errors of
 * event streams.
 * @param streams paths that answer with an event stream
 * @param files paths that answer with a file, whatever the client accepts
 */
export function contentNegotiation({
  streams,
  files,
}: {
  streams: ReadonlySet<string>;
  files: ReadonlySet<string>;
}): Step {
  return (ctx) => {
    const { accept } = ctx.req.headers;
    if (accept === undefined || accept === '*/*') return;
    const path = rawPath(ctx.req.url);
    if (files.has(path)) return;
    if (streams.has(path)) {
      if (ctx.accepts(STREAM) === false) throw notAcceptable([EVENT_STREAM_MEDIA_TYPE]);
      return;
    }
    // Fast path for the usual value; the state already has the default.
    if (accept === JSON_MEDIA_TYPE) return;
    const accepted = ctx.accepts(AVAILABLE);
    if (accepted !== false) {
      ctx.state.mediaType = String(accepted).startsWith(RDCP_MEDIA_TYPE) ? RDCP_MEDIA_TYPE : JSON_MEDIA_TYPE;
      return;
    }
    if ([ctx.accepts()].flat().some((type) => VERSIONED.test(String(type)))) throw versionUnsupported();
    throw notAcceptable([JSON_MEDIA_TYPE, RDCP_MEDIA_TYPE]);
  };
}

function notAcceptable(available: readonly string[]): RdcpError {
  return new RdcpError('RDCP_MEDIA_NOT_ACCEPTABLE', `Answers are ${available.join(' or ')}`, {
    details: { available },
  });
}

function malformed(field: string, problem: string, details: Readonly<Record<string, unknown>> = {}): RdcpError {
  return new RdcpError('RDCP_MALFORMED_REQUEST', `${field} ${problem}`, { details: { field, ...details } });
}
