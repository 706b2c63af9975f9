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
 * The address that rate limits and the audit trail use: the connection's peer, or the client that trusted proxies report. It
 * never grants anything.
 */
export function clientAddress(req: AddressedRequest): string {
  return req[ADDRESS] ?? unmapped(req.socket.remoteAddress ?? 'unknown');
}

/** Whether a trusted proxy reported the client: then its connection carries the requests of others too. */
export function cameThroughProxy(req: AddressedRequest): boolean {
  return req[ADDRESS] !== undefined;
}

/**
 * Whether the peer of a socket is one of these.
 * @param list addresses and networks (CIDR), and `unix` for what comes through a Unix socket
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

/** A broken TCP connection has no address either. */
function isUnixSocket({ destroyed, remoteAddress, remotePort }: Socket): boolean {
  return !destroyed && remoteAddress === undefined && remotePort === undefined;
}

/**
 * Reads the client's address from the forwarding headers of requests whose peer is a trusted proxy. From any other peer the
 * headers are ignored: every client can send them.
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
      // A hop that is hidden or malformed: the proxy that reported it is the last address known.
      if (hop === undefined) break;
      client = hop;
      hops += 1;
      if (hops === MAX_HOPS || !networks(hop)) break;
    }
    if (client !== undefined) req[ADDRESS] = client;
  };
}

/**
 * From the nearest to the farthest. With both headers, `X-Forwarded-For` counts: nearly every proxy writes it, and most pass
 * on unchanged the `Forwarded` that a client sent.
 */
function hopsOf(req: IncomingMessage): Iterable<string | undefined> {
  const { 'x-forwarded-for': listed, forwarded } = req.headersDistinct;
  return listed === undefined ? forwardedHops(forwarded ?? []) : forwardedFor(listed);
}

/** An IPv4 address as itself, where a socket for both families writes it as `::ffff:192.0.2.1`. */
export function unmapped(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/, '');
}
