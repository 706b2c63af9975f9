import { BlockList, isIP, SocketAddress } from 'node:net';

/** IPv6 as in RFC 5952, without a zone; an IPv4-mapped address as IPv4; `undefined` for anything else. */
export function canonicalAddress(text: string): string | undefined {
  const address = text.replace(/%.*$/, '');
  const family = isIP(address);
  if (family !== 6) return family === 4 ? address : undefined;
  return new SocketAddress({ address, family: 'ipv6' }).address.replace(/^::ffff:(?=\d+\.)/, '');
}

/** Whether the text is an address or a network in CIDR notation. */
export function isAddressOrNetwork(text: string): boolean {
  const [address = '', prefix, ...more] = text.split('/');
  const family = isIP(address);
  if (family === 0 || address.includes('%') || more.length > 0) return false;
  return prefix === undefined || (/^(?:0|[1-9]\d{0,2})$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128));
}

/** Checks canonical addresses. @param list addresses and networks that {@link isAddressOrNetwork} accepts */
export function addressMatcher(list: readonly string[]): (address: string) => boolean {
  const listed = new BlockList();
  for (const entry of list) {
    const [address = '', prefix] = entry.split('/');
    const family = familyOf(address);
    if (prefix === undefined) listed.addAddress(address, family);
    else listed.addSubnet(address, Number(prefix), family);
  }
  return (address) => listed.check(address, familyOf(address));
}

/** List entry for peers of Unix sockets, which have no address. */
export const UNIX_SOCKET = 'unix';

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6';
}
