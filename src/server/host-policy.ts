import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { ResolvedConfig } from '../config.ts';
import { configurationError } from '../errors.ts';
import { createHostCheck, isLoopback } from '../hosts.ts';

/** What a listener of our own demands of the `Host` and `Origin` of the requests that came through it. */
export interface HostPolicy {
  /** Whether the host of a `Host` header, lower-case and without its port, is one that this server goes by. */
  allows(host: string, socket: Socket): boolean;
  /** Schemes under which clients reach it. */
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
