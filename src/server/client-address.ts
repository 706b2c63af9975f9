import type { IncomingMessage } from 'node:http';
import { addressMatcher, canonicalAddress, UNIX_SOCKET } from '../addresses.ts';
import { forwardedFor, forwardedHops } from './forwarded.ts';

/** Proxies on the way that are looked past; what comes before them counts as the client. */
const MAX_PROXIES = 16;

const ADDRESS = Symbol('client address');

interface AddressedRequest extends IncomingMessage {
  [ADDRESS]?: string;
}

/**
 * The address that a request is counted and audited under: that of the connection's peer, or what trusted proxies say in
 * front of which client they stand. It never grants anything.
 */
export function clientAddress(req: AddressedRequest): string {
  return req[ADDRESS] ?? unmapped(req.socket.remoteAddress ?? 'unknown');
}

/**
 * Finds out the address of the client of requests that come through these proxies. Whoever else sends forwarding headers
 * is not believed: anybody can.
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
    let proxies = 0;
    for (const hop of hopsOf(req)) {
      // What the proxy does not tell, or what nobody can read, ends the way: its own address is the last one known.
      if (hop === undefined) break;
      client = hop;
      proxies += 1;
      if (proxies === MAX_PROXIES || !networks(hop)) break;
    }
    if (client !== undefined) req[ADDRESS] = client;
  };
}

/** A connection that broke has no address either. */
function isUnixSocket({ socket }: IncomingMessage): boolean {
  return !socket.destroyed && socket.remoteAddress === undefined && socket.remotePort === undefined;
}

/**
 * From the nearest to the farthest. Where both headers are there `X-Forwarded-For` counts: nearly every proxy writes it, and
 * one that does passes on a `Forwarded` that the client made up.
 */
function hopsOf(req: IncomingMessage): Iterable<string | undefined> {
  const { 'x-forwarded-for': listed, forwarded } = req.headersDistinct;
  return listed === undefined ? forwardedHops(forwarded ?? []) : forwardedFor(listed);
}

/** An IPv4 address as itself, where a socket for both families writes it as `::ffff:192.0.2.1`. */
export function unmapped(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/, '');
}
