import type { IncomingMessage } from 'node:http';
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

/**
 * Reads the client's address from the forwarding headers of requests whose peer is a trusted proxy. From any other peer the
 * headers are ignored: every client can send them.
 * @param trustedProxies addresses and networks (CIDR), and `unix` for what comes through a Unix socket
 */
export function createClientAddresses(trustedProxies: readonly string[]): (req: IncomingMessage) => void {
  if (trustedProxies.length === 0) return () => undefined;
  const networks = addressMatcher(trustedProxies.filter((entry) => entry !== UNIX_SOCKET));
  const trustsUnix = trustedProxies.includes(UNIX_SOCKET);

  return (req: AddressedRequest) => {
    const peer = canonicalAddress(req.socket.remoteAddress ?? '');
    if (peer === undefined ? !(trustsUnix && isUnixSocket(req)) : !networks(peer)) return;
    let client = peer;
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

/** A broken TCP connection has no address either. */
function isUnixSocket({ socket }: IncomingMessage): boolean {
  return !socket.destroyed && socket.remoteAddress === undefined && socket.remotePort === undefined;
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
