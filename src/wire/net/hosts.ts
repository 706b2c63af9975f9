import { BlockList, isIP, type Socket } from 'node:net';
import { canonicalAddress } from './addresses.ts';

/** RFC 9110, section 7.2: a name or an IPv6 literal, with an optional port. */
const HOST = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/i;

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** The host of a `Host` header, in lower case and without the port; `undefined` if the header is malformed. */
export function hostNameOf(header: string): string | undefined {
  return HOST.exec(header)?.[1]?.toLowerCase();
}

/** `localhost` (RFC 6761, section 6.3), 127.0.0.0/8 or ::1, with or without brackets. */
export function isLoopback(host: string): boolean {
  const name = bare(host);
  const family = isIP(name);
  return name === 'localhost' || (family !== 0 && loopback.check(name, family === 4 ? 'ipv4' : 'ipv6'));
}

/** Own and allowed names, loopback, and the address connected to. Against DNS rebinding: a page may point its name at the listener. */
export function createHostCheck({
  host,
  allowedHosts,
}: {
  readonly host: string;
  readonly allowedHosts: readonly string[];
}): (name: string, socket: Socket) => boolean {
  const names = new Set([host, ...allowedHosts].map(bare));
  return (name, socket) => names.has(bare(name)) || isLoopback(name) || isAddressConnectedTo(name, socket);
}

/** As in probes of load balancers. Safe against DNS rebinding, which needs a name. */
export function isAddressConnectedTo(host: string, { localAddress = '' }: Pick<Socket, 'localAddress'>): boolean {
  const address = canonicalAddress(bare(host));
  return address !== undefined && address === canonicalAddress(localAddress);
}

function bare(host: string): string {
  return host.toLowerCase().replace(/^\[(.*)\]$/, '$1');
}
