import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { ResolvedConfig } from '../config.ts';
import { configurationError } from '../errors.ts';
import { createHostCheck, isLoopback } from '../hosts.ts';

/** What our own listener requires of `Host` and `Origin`. */
export interface HostPolicy {
  /** Whether the server accepts a host name, given in lower case and without its port. */
  allows(host: string, socket: Socket): boolean;
  /** Schemes by which clients reach the server. */
  readonly schemes: readonly ('http' | 'https')[];
}

type ServerConfig = Exclude<ResolvedConfig['server'], false>;

/** @throws {RdcpError} `RDCP_CONFIG_INVALID` for plain HTTP on an address that is not loopback */
export function assertServable({ host, tls, behindTlsProxy }: ServerConfig): void {
  if (tls !== undefined || behindTlsProxy || isLoopback(host)) return;
  throw configurationError(
    'server.host',
    `${host} is not a loopback address: plain HTTP needs 127.0.0.1, ::1 or localhost; set server.tls, or server.behindTlsProxy where TLS ends before this process`,
  );
}

export function createHostPolicy({ host, allowedHosts, tls, behindTlsProxy }: ServerConfig): HostPolicy {
  return {
    allows: createHostCheck({ host, allowedHosts }),
    schemes: tls !== undefined ? ['https'] : behindTlsProxy ? ['http', 'https'] : ['http'],
  };
}

const POLICY = Symbol('host policy');

/** A request that came through our own listener. */
interface ListenedRequest extends IncomingMessage {
  [POLICY]?: HostPolicy;
}

/** Marks a request as received by our own listener. */
export function applyHostPolicy(req: ListenedRequest, policy: HostPolicy): void {
  req[POLICY] = policy;
}

/** `undefined` for a request in an application that mounts the endpoint and decides on its hosts itself. */
export function hostPolicyOf(req: ListenedRequest): HostPolicy | undefined {
  return req[POLICY];
}
