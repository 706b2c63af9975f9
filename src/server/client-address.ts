import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { addressMatcher, canonicalAddress, UNIX_SOCKET } from '../addresses.ts';
import { forwardedFor, forwardedHops } from './forwarded.ts';

/** Most hops that are read. */
const MAX_HOPS = 16;

const ADDRESS = Symbol('client address');

interface AddressedRequest extends IncomingMessage {
  [ADDRESS]?: string;
}

/**
 * The address for rate limits and the audit trail: the connection's peer, or the client that trusted proxies report. It
 * never grants access.
 */
export function clientAddress(req: AddressedRequest): string {
  return req[ADDRESS] ?? unmapped(req.socket.remoteAddress ?? 'unknown');
}

/** Whether a trusted proxy reported the client. Its connection then carries requests of other clients too. */
export function cameThroughProxy(req: AddressedRequest): boolean {
  return req[ADDRESS] !== undefined;
}

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
export function createClientAddresses(trustedProxies: readonly string[]): (req: IncomingMessage) => void {
  const isTrusted = peerMatcher(trustedProxies);
  const networks = addressMatcher(trustedProxies.filter((entry) => entry !== UNIX_SOCKET));

  return (req: AddressedRequest) => {
    if (!isTrusted(req.socket)) return;
    let client = canonicalAddress(req.socket.remoteAddress ?? '');
    let hops = 0;
    for (const hop of hopsOf(req)) {
      // For a hidden or malformed hop, the proxy that reported it is the last known address.
      if (hop === undefined) break;
      client = hop;
      hops += 1;
      if (hops === MAX_HOPS || !networks(hop)) break;
    }
    if (client !== undefined) req[ADDRESS] = client;
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
