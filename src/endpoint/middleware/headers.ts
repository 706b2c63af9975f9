import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { RouterContext } from '@koa/router';
import type { ServerConfig } from '../../options/config.ts';
import {
  CONSOLE_PATHS,
  EVENT_STREAM_MEDIA_TYPE,
  HEADERS,
  JSON_MEDIA_TYPE,
  MAX_CLOCK_SKEW_MS,
  PROTOCOL,
  RDCP_MEDIA_TYPE,
  REQUEST_HEADERS,
} from '../../wire/constants.ts';
import { isIdentifier } from '../../wire/names.ts';
import { createHostCheck, hostNameOf, isLoopback } from '../../wire/net/hosts.ts';
import { REFUSALS } from '../../wire/refusals.ts';
import type { Clock } from '../../wire/time/clock.ts';
import { timestamp } from '../../wire/time.ts';
import { contentType } from '../error-answer.ts';
import { endConnection } from '../request.ts';
import type { Check, Context } from '../steps.ts';

/** The value of a single-valued header. {@link singleHeaders} has refused duplicates. */
export function header(req: IncomingMessage, name: Lowercase<string>): string | undefined {
  return req.headersDistinct[name]?.[0];
}

/** Refuses new requests while the server closes; accepted ones are still answered. */
export function refuseWhileClosing(closing: AbortSignal): Check {
  return (ctx) => {
    if (!closing.aborted) return;
    endConnection(ctx.res);
    throw REFUSALS.closing();
  };
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
export function singleHeaders(judgedLater: readonly string[] = []): Check {
  const single = SINGLE.filter(({ name }) => !judgedLater.includes(name));
  return (ctx) => {
    const { rawHeaders, headersDistinct: headers } = ctx.req;
    if (rawHeaders.length > 2 * MAX_HEADER_FIELDS) throw REFUSALS.manyFields(MAX_HEADER_FIELDS);
    for (const { name, key } of single) {
      if ((headers[key]?.length ?? 0) > 1) throw REFUSALS.malformed(name, 'was sent more than once');
    }
  };
}

/**
 * Refuses malformed identifiers before authentication, so that the error reveals nothing about tenants. A request with
 * a malformed id keeps its generated one. The client id header grants nothing: identity comes from the credential.
 */
export function identifiers(): Check {
  return (ctx) => {
    for (const key of ['requestId', 'clientId', 'tenantId'] as const) {
      const values = ctx.req.headersDistinct[REQUEST_HEADERS[key]];
      if (values === undefined || values.every(isIdentifier)) continue;
      throw REFUSALS.malformed(HEADERS[key], 'must be 1 to 255 of a-z A-Z 0-9 . _ -');
    }
  };
}

export function protocolVersion(): Check {
  return (ctx) => {
    const stated = header(ctx.req, REQUEST_HEADERS.protocol);
    if (stated !== undefined && stated !== PROTOCOL) throw REFUSALS.version();
  };
}

/** Refuses a request whose `Date` is too far from the server's clock. */
export function clockSkew(clock: Pick<Clock, 'now'>): Check {
  return (ctx) => {
    const date = header(ctx.req, 'date');
    if (date === undefined) return;
    const sentAt = parseHttpDate(date);
    if (sentAt === undefined)
      throw REFUSALS.malformed('Date', 'must be an HTTP date such as Sun, 06 Nov 1994 08:49:37 GMT');
    const now = clock.now();
    if (Math.abs(now - sentAt) > MAX_CLOCK_SKEW_MS) {
      throw REFUSALS.malformed('Date', 'is more than 5 minutes away from the clock of this server', {
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

/** The media type of answers and errors that a request prefers; JSON if it accepts neither, as for the error that says so. */
export function preferredMediaType(ctx: Context): string {
  const { accept } = ctx.req.headers;
  // Fast path for the usual values.
  if (accept === undefined || accept === '*/*' || accept === JSON_MEDIA_TYPE) return JSON_MEDIA_TYPE;
  return String(ctx.accepts(AVAILABLE)).startsWith(RDCP_MEDIA_TYPE) ? RDCP_MEDIA_TYPE : JSON_MEDIA_TYPE;
}

/**
 * Refuses a request that accepts no media type of the answer.
 * @param streams paths that answer with an event stream
 * @param files paths that answer with a file, whatever the client accepts
 */
export function contentNegotiation({
  streams,
  files,
}: {
  streams: ReadonlySet<string>;
  files: ReadonlySet<string>;
}): Check {
  return (ctx) => {
    const { accept } = ctx.req.headers;
    if (accept === undefined || accept === '*/*') return;
    const { path } = ctx.state.facts;
    if (files.has(path)) return;
    if (streams.has(path)) {
      if (ctx.accepts(STREAM) === false) throw REFUSALS.notAcceptable([EVENT_STREAM_MEDIA_TYPE]);
      return;
    }
    // Fast path for the usual value.
    if (accept === JSON_MEDIA_TYPE || ctx.accepts(AVAILABLE) !== false) return;
    if ([ctx.accepts()].flat().some((type) => VERSIONED.test(String(type)))) throw REFUSALS.version();
    throw REFUSALS.notAcceptable();
  };
}

const VERSION = /^\/rdcp\/v([1-9]\d*)\//;

export function knownPath(known: ReadonlyMap<string, unknown>): Check {
  return (ctx) => {
    const { path } = ctx.state.facts;
    if (known.has(path)) return;
    const version = VERSION.exec(path)?.[1];
    if (version !== undefined && version !== '1') throw REFUSALS.version();
    throw REFUSALS.noResource();
  };
}

/** Runs after the router: a known path with an unsupported method. `OPTIONS` has no special meaning. */
export function methodNotAllowed(): Check {
  return (ctx) => {
    const { matched = [] } = ctx as Partial<RouterContext>;
    const allow = matched
      .flatMap(({ methods }) => methods)
      .sort()
      .join(', ');
    throw REFUSALS.noMethod(allow);
  };
}

export type HostPolicy = ReturnType<typeof createHostPolicy>;

/** Requirements of our own listener: the host names that it accepts, and the schemes by which clients reach it. */
export function createHostPolicy({ host, allowedHosts, tls, behindTlsProxy }: ServerConfig) {
  return {
    allows: createHostCheck({ host, allowedHosts }),
    schemes: [...(tls === undefined ? ['http' as const] : []), ...(tls || behindTlsProxy ? ['https' as const] : [])],
  };
}

/**
 * Blocks web pages. A DNS rebinding attack sends a foreign `Host`; a cross-site request sends a foreign `Origin`. When
 * an application mounts the endpoint, it decides on its hosts, and an `Origin` must match the request's host.
 */
export function hostAndOrigin(): Check {
  return (ctx) => {
    const { policy, target } = ctx.state.facts;
    const stated = header(ctx.req, 'host')?.toLowerCase();
    // RFC 9112, section 3.2.2: with an absolute target, Host must be present but is ignored.
    const host = target?.authority ?? stated;
    if (policy !== undefined) {
      const optional = isHttp10(ctx.req);
      const name = nameOf(host, optional);
      if (target !== undefined) nameOf(stated, optional);
      if (name !== undefined && !policy.allows(name, ctx.req.socket)) throw REFUSALS.foreignHost();
      if (target !== undefined && !policy.schemes.includes(target.scheme)) {
        throw REFUSALS.foreignScheme(target.scheme);
      }
    }
    const origin = header(ctx.req, 'origin')?.toLowerCase();
    const schemes = policy?.schemes ?? ['http', 'https'];
    if (origin !== undefined && !schemes.some((scheme) => origin === `${scheme}://${host}`)) {
      throw REFUSALS.foreignOrigin();
    }
  };
}

/** The host without its port. @param optional whether it may be missing */
function nameOf(host: string | undefined, optional: boolean): string | undefined {
  if (host === undefined && optional) return undefined;
  const name = hostNameOf(host ?? '');
  if (name === undefined) throw REFUSALS.noHost();
  return name;
}

/** HTTP/1.0 has no `Host`. Browsers, which this check is for, do not use it. */
function isHttp10({ httpVersion }: IncomingMessage): boolean {
  return httpVersion === '1.0';
}

/**
 * Refuses what pages of other origins make a browser send (Fetch Metadata). Unlike `Origin`, these headers come with every
 * request, also of images, scripts and frames. A link to the console works from anywhere: its page is the same for everybody.
 */
export function fetchMetadata(): Check {
  return (ctx) => {
    const sites = valuesOf(ctx, 'sec-fetch-site');
    if (!sites.some((site) => site === 'cross-site' || site === 'same-site')) return;
    if (isLinkToConsole(ctx)) return;
    throw REFUSALS.foreignSite();
  };
}

function isLinkToConsole(ctx: Context): boolean {
  const { path } = ctx.state.facts;
  return (
    ctx.method === 'GET' &&
    (path === CONSOLE_PATHS.page || path === CONSOLE_PATHS.folder) &&
    only(valuesOf(ctx, 'sec-fetch-mode'), 'navigate') &&
    only(valuesOf(ctx, 'sec-fetch-dest'), 'document')
  );
}

function only(values: readonly string[], value: string): boolean {
  return values.length === 1 && values[0] === value;
}

function valuesOf({ req }: Context, name: Lowercase<string>): readonly string[] {
  const values = req.headersDistinct[name];
  return values === undefined ? [] : values.flatMap((value) => value.split(',').map((each) => each.trim()));
}

/**
 * Refuses connections from beyond loopback: without a configured credential, only the developer on this machine has
 * access. Checks the socket, never a header.
 */
export function loopbackOnly(): Check {
  return ({ req: { socket } }) => {
    if (isLocal(socket)) return;
    throw REFUSALS.notLoopback();
  };
}

const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'] as const;

/**
 * Refuses requests that did not come straight from this machine: a proxy on it connects from loopback as well, with the name
 * that its clients use, or names its client in a header.
 */
export const assertSameMachine: Check = ({ req }) => {
  const host = hostNameOf(header(req, 'host') ?? '');
  const straight = FORWARDED.every((name) => req.headers[name] === undefined);
  if (isLocal(req.socket) && straight && host !== undefined && isLoopback(host)) return;
  throw REFUSALS.notLocal();
};

/** Unix sockets and broken connections have no addresses. */
function isLocal({ remoteAddress, localAddress, destroyed }: Socket): boolean {
  const addresses = [remoteAddress, localAddress];
  return addresses.every((address) => address === undefined || isLoopback(address)) && !destroyed;
}
