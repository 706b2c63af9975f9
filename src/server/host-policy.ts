import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, type Socket } from 'node:net';
import { canonicalAddress } from '../addresses.ts';
import type { ResolvedConfig } from '../config.ts';
import { RdcpError } from '../errors.ts';

/** What a listener of our own demands of the `Host` and `Origin` of the requests that came through it. */
export interface HostPolicy {
  /** Whether the host of a `Host` header, lower-case and without its port, is one that this server goes by. */
  allows(host: string): boolean;
  /** Schemes under which clients reach it. */
  readonly schemes: readonly ('http' | 'https')[];
}

type ServerConfig = Exclude<ResolvedConfig['server'], false>;

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** `localhost` (RFC 6761, section 6.3), 127.0.0.0/8 or ::1, with or without brackets. */
export function isLoopback(host: string): boolean {
  const name = bare(host);
  const family = isIP(name);
  return name === 'localhost' || (family !== 0 && loopback.check(name, family === 4 ? 'ipv4' : 'ipv6'));
}

/** @throws {RdcpError} `RDCP_CONFIG_INVALID` for plain HTTP on an address that is not loopback */
export function assertServable({ host, tls, behindTlsProxy }: ServerConfig): void {
  if (tls !== undefined || behindTlsProxy || isLoopback(host)) return;
  throw new RdcpError(
    'RDCP_CONFIG_INVALID',
    `configuration: server.host ${host} is not a loopback address: plain HTTP needs 127.0.0.1, ::1 or localhost; set server.tls, or server.behindTlsProxy where TLS ends before this process`,
    { details: { field: 'server.host' } },
  );
}

export function createHostPolicy({ host, allowedHosts, tls, behindTlsProxy }: ServerConfig): HostPolicy {
  const names = new Set([host, ...allowedHosts].map(bare));
  return {
    allows: (name) => names.has(name) || names.has(bare(name)) || isLoopback(name),
    schemes: tls !== undefined ? ['https'] : behindTlsProxy ? ['http', 'https'] : ['http'],
  };
}

/**
 * Whether a host is the IP address that the client connected to, as in the probes of load balancers. DNS rebinding needs a
 * name, so this lets in no page of another site.
 */
export function isAddressConnectedTo(host: string, { localAddress = '' }: Socket): boolean {
  const address = canonicalAddress(bare(host));
  return address !== undefined && address === canonicalAddress(localAddress);
}

function bare(host: string): string {
  return host.toLowerCase().replace(/^\[(.*)\]$/, '$1');
}

const POLICY = Symbol('host policy');

/** A request as it came through a listener of our own. */
interface ListenedRequest extends IncomingMessage {
  [POLICY]?: HostPolicy;
}

/** Marks a request as one that came through a listener of our own. */
export function applyHostPolicy(req: ListenedRequest, policy: HostPolicy): void {
  req[POLICY] = policy;
}

/** `undefined` for a request of an application that mounted us: which hosts it serves is its own matter. */
export function hostPolicyOf(req: ListenedRequest): HostPolicy | undefined {
  return req[POLICY];
}
