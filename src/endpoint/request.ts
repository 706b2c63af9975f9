import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants, type Http2ServerRequest, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { ClientCertificate } from '../access/authenticator.ts';
import { addressMatcher, canonicalAddress, UNIX_SOCKET } from '../wire/net/addresses.ts';
import type { HostPolicy } from './middleware/headers.ts';
import { ABSOLUTE, type MetadataPath, originForm } from './paths.ts';

/** Facts about a request that are read once, before its steps. */
export interface RequestFacts {
  /** The path as sent, neither decoded nor normalized, so that each endpoint has exactly one spelling. */
  readonly path: string;
  /** Absent for a target in any other than absolute form. */
  readonly target: TargetOrigin | undefined;
  /**
   * The address for rate limits and the audit trail: the connection's peer, or the client that trusted proxies report. It
   * never grants access.
   */
  readonly client: string;
  readonly clientKey: string;
  /** Whether a trusted proxy reported the client. The connection then carries requests of other clients too. */
  readonly proxied: boolean;
  /** Absent in an application that mounts the endpoint and decides on its hosts itself. */
  readonly policy: HostPolicy | undefined;
  /** Whether it is for an OAuth endpoint, whose errors use OAuth's format. */
  readonly oauth: boolean;
  /** The media type of answers and errors that the request prefers; absent until its header was looked at for it. */
  mediaType?: string;
}

const FACTS = Symbol('request facts');
const POLICY = Symbol('host policy');

interface ReadRequest extends IncomingMessage {
  [FACTS]?: RequestFacts;
  [POLICY]?: HostPolicy;
}

/** `undefined` for a request that was refused before it was read. */
export function factsOf(req: ReadRequest): RequestFacts | undefined {
  return req[FACTS];
}

export function applyHostPolicy(req: ReadRequest, policy: HostPolicy): void {
  req[POLICY] = policy;
}

interface ReaderOptions {
  readonly trustedProxies: readonly string[];
  readonly metadataPath: MetadataPath | undefined;
  readonly oauthPaths: ReadonlySet<string>;
}

/** Returns a function that reads a request into the form that the steps expect: HTTP/1.1, with a target in origin form. */
export function createRequestReader({ trustedProxies, metadataPath, oauthPaths }: ReaderOptions) {
  const findForwardedClient = forwardedClientFinder(trustedProxies);
  return (req: ReadRequest): RequestFacts => {
    readAsHttp1(req);
    const target = readAsOriginForm(req);
    metadataPath?.shorten(req);
    const [path = ''] = req.url?.split('?', 1) ?? [];
    const forwarded = findForwardedClient(req);
    const client = forwarded ?? unmapped(req.socket.remoteAddress ?? 'unknown');
    const facts: RequestFacts = {
      path,
      target,
      client,
      clientKey: addressKey(client),
      proxied: forwarded !== undefined,
      policy: req[POLICY],
      oauth: oauthPaths.has(path),
    };
    req[FACTS] = facts;
    return facts;
  };
}

/** The stream of an HTTP/2 request or response; `undefined` on HTTP/1.1. */
export function http2Stream(message: IncomingMessage | ServerResponse): ServerHttp2Stream | undefined {
  return 'stream' in message ? (message as unknown as Http2ServerRequest).stream : undefined;
}

/**
 * Adds to an HTTP/2 request what steps and body parsers expect and Node's compatibility layer omits. An HTTP/1.1
 * request is unchanged.
 */
function readAsHttp1(req: IncomingMessage): void {
  const stream = http2Stream(req);
  if (stream === undefined || req.headersDistinct !== undefined) return;
  const values = headerValues(req.rawHeaders);
  Object.defineProperty(req, 'headersDistinct', { value: values });
  // HTTP/2 has no `Transfer-Encoding`, but parsers use it to detect a body.
  if (values['content-length'] === undefined && !stream.endAfterHeaders) req.headers['transfer-encoding'] = 'chunked';
}

/**
 * Every value of every header. `:authority` counts as `Host` (RFC 9113, section 8.3.1); when they differ, there are two
 * values.
 */
function headerValues(rawHeaders: readonly string[]): Record<string, string[]> {
  const values: Record<string, string[]> = Object.create(null);
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!.toLowerCase();
    values[name] = [...(values[name] ?? []), rawHeaders[index + 1]!];
  }
  const { ':authority': authority = [], host = [] } = values;
  const agree = host.length === 0 || (host.length === 1 && host[0] === authority[0]);
  const regular = Object.entries(values).filter(([name]) => !name.startsWith(':'));
  return Object.assign(Object.create(null), Object.fromEntries(regular), {
    ...(authority.length > 0 && { host: agree ? authority : [...authority, ...host] }),
  });
}

/** Announces the end of the connection. HTTP/2 has no such header and uses frames instead. */
export function endConnection(res: ServerResponse): void {
  if (http2Stream(res) === undefined && !res.headersSent) res.setHeader('Connection', 'close');
}

/** Closes the connection of an answer, or its HTTP/2 stream. */
export function cutOff(res: ServerResponse): void {
  const stream = http2Stream(res);
  if (stream === undefined) res.socket?.destroy();
  else stream.close(constants.NGHTTP2_CANCEL);
}

/** The origin of a request target in absolute form, which replaces the `Host` header. */
interface TargetOrigin {
  readonly scheme: 'http' | 'https';
  /** In lower case, otherwise as sent and unchecked. */
  readonly authority: string;
}

/** Rewrites an absolute target to origin form, which every step reads. @returns its origin */
function readAsOriginForm(req: IncomingMessage): TargetOrigin | undefined {
  // Fast path for the usual form.
  if (req.url?.startsWith('/')) return undefined;
  const [, scheme, authority] = ABSOLUTE.exec(req.url ?? '') ?? [];
  if (req.url === undefined || scheme === undefined || authority === undefined) return undefined;
  req.url = originForm(req.url);
  return { scheme: scheme.toLowerCase() as TargetOrigin['scheme'], authority: authority.toLowerCase() };
}

const MAX_HOPS = 16;

/**
 * Whether a socket's peer is in the list.
 * @param list addresses and networks (CIDR), and `unix` for Unix sockets
 */
export function peerMatcher(list: readonly string[]): (socket: Socket) => boolean {
  if (list.length === 0) return () => false;
  const networks = addressMatcher(list.filter((entry) => entry !== UNIX_SOCKET));
  const unix = list.includes(UNIX_SOCKET);
  return (socket) => {
    const peer = canonicalAddress(socket.remoteAddress ?? '');
    return peer === undefined ? unix && isUnixSocket(socket) : networks(peer);
  };
}

/** A closed TCP connection has no address either. */
function isUnixSocket({ destroyed, remoteAddress, remotePort }: Socket): boolean {
  return !destroyed && remoteAddress === undefined && remotePort === undefined;
}

/**
 * Reads the client's address from forwarding headers when the peer is a trusted proxy. From other peers the headers are
 * ignored, because any client can send them.
 * @param trustedProxies as in {@link peerMatcher}
 */
function forwardedClientFinder(trustedProxies: readonly string[]): (req: IncomingMessage) => string | undefined {
  const isTrusted = peerMatcher(trustedProxies);
  const networks = addressMatcher(trustedProxies.filter((entry) => entry !== UNIX_SOCKET));

  return (req) => {
    if (!isTrusted(req.socket)) return undefined;
    let client = canonicalAddress(req.socket.remoteAddress ?? '');
    let hops = 0;
    for (const hop of hopsOf(req)) {
      // For a hidden or malformed hop, the proxy that reported it is the last known address.
      if (hop === undefined) break;
      client = hop;
      hops += 1;
      if (hops === MAX_HOPS || !networks(hop)) break;
    }
    return client;
  };
}

/**
 * From the nearest to the farthest. `X-Forwarded-For` takes precedence: nearly every proxy sets it, while most pass on
 * a client's `Forwarded` unchanged.
 */
function hopsOf(req: IncomingMessage): Iterable<string | undefined> {
  const { 'x-forwarded-for': listed, forwarded } = req.headersDistinct;
  return listed === undefined ? forwardedHops(forwarded ?? []) : forwardedFor(listed);
}

/** Converts an IPv4-mapped address such as `::ffff:192.0.2.1` to IPv4. */
export function unmapped(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/, '');
}

/**
 * The rate limit key of an address. An IPv6 subscriber holds at least a /64 (RFC 6177), which counts as one address.
 */
export function addressKey(address: string): string {
  if (!address.includes(':')) return address;
  const [left = '', right] = address.replace(/%.*$/, '').toLowerCase().split('::');
  const head = left === '' ? [] : left.split(':');
  const tail = right === undefined || right === '' ? [] : right.split(':');
  const groups =
    right === undefined ? head : [...head, ...Array(Math.max(0, 8 - head.length - tail.length)).fill('0'), ...tail];
  return groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':');
}

/**
 * The client certificate of the connection's TLS handshake. Headers in which proxies pass on certificates are never
 * read, because any client can send them.
 */
export function clientCertificateOf(req: IncomingMessage): ClientCertificate | undefined {
  const { authorized = false, getPeerX509Certificate } = req.socket as Partial<TLSSocket>;
  const certificate = getPeerX509Certificate?.call(req.socket);
  // Node reports a resumed session as authorized even without a certificate, so a certificate is required.
  return certificate && { certificate, authorized };
}

/**
 * How much of an oversized body is discarded. Closing a connection with unread data resets it, and the client would not
 * see the answer. A longer body is cut off all the same.
 */
const MAX_DISCARDED_BYTES = 8 * 1024 * 1024;

/** Discards the rest of a body, up to a limit. Resolves to whether all of it was read. */
export function discard(req: IncomingMessage): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  let discarded = 0;
  req.on('data', (chunk: Buffer) => {
    discarded += chunk.length;
    if (discarded > MAX_DISCARDED_BYTES) resolve(false);
  });
  req.once('end', () => resolve(true));
  req.once('close', () => resolve(false));
  req.resume();
  return promise;
}

export function hasBody(req: IncomingMessage): boolean {
  return req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0;
}

/** Whether a part of the body has not arrived yet. */
export function isArriving(req: IncomingMessage): boolean {
  return hasBody(req) && !req.complete;
}

const MAX_ELEMENT_LENGTH = 512;

/** RFC 7239, section 4, also accepting unquoted colons and brackets, which some proxies send. */
const PAIR = /^\s*([!#$%&'*+\-.^_`|~\w]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s",;=]+))\s*$/;

/** An address, or a bracketed one, with an optional port (RFC 7239, section 6). */
const NODE = /^(?:\[([0-9a-f:.%]+)\]|([0-9.]+))(?::(?:\d{1,5}|_[\w.-]+))?$/i;

/**
 * The addresses in `X-Forwarded-For`, from last to first; `undefined` for an invalid one.
 * @param fields every value of the header, in order
 */
export function* forwardedFor(fields: readonly string[]): Generator<string | undefined> {
  for (const element of fromTheEnd(fields, ',')) yield nodeAddress(element.trim());
}

/** The addresses in `Forwarded` (RFC 7239), from last to first; `undefined` for a hidden or malformed one. */
export function* forwardedHops(fields: readonly string[]): Generator<string | undefined> {
  for (const element of fromTheEnd(fields, ',')) {
    const pairs = [...fromTheEnd([element], ';')].filter((pair) => pair.trim() !== '').map((pair) => PAIR.exec(pair));
    const named = pairs.filter((pair) => pair?.[1]?.toLowerCase() === 'for');
    const [node] = named;
    const readable = named.length === 1 && !pairs.includes(null);
    yield readable && node ? nodeAddress(node[2]?.replace(/\\(.)/g, '$1') ?? node[3] ?? '') : undefined;
  }
}

/** `unknown` and obfuscated names (`_hidden`) are not addresses. */
function nodeAddress(node: string): string | undefined {
  const [, bracketed, plain] = NODE.exec(node) ?? [];
  return canonicalAddress(bracketed ?? plain ?? node);
}

/**
 * Splits at separators outside quotes, from the end, so that a client's unclosed quote cannot swallow what a proxy
 * appended.
 */
function* fromTheEnd(fields: readonly string[], separator: string): Generator<string> {
  for (const field of fields.toReversed()) {
    let quoted = false;
    let end = field.length;
    for (let index = end - 1; index >= -1; index -= 1) {
      if (field[index] === '"' && field[index - 1] !== '\\') quoted = !quoted;
      if (index !== -1 && (quoted || field[index] !== separator)) {
        if (end - index > MAX_ELEMENT_LENGTH) return;
        continue;
      }
      yield field.slice(index + 1, end);
      end = index;
    }
  }
}
