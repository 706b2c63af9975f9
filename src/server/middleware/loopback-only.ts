import type { Socket } from 'node:net';
import { RdcpError } from '../../errors.ts';
import { hostNameOf, isLoopback } from '../../hosts.ts';
import type { Step } from '../steps.ts';
import { header } from './headers.ts';

/**
 * Refuses connections from beyond loopback: without a configured credential, only the developer on this machine has
 * access. Checks the socket, never a header.
 */
export function loopbackOnly(): Step {
  return ({ req: { socket } }) => {
    if (isLocal(socket)) return;
    throw new RdcpError('RDCP_FORBIDDEN', 'Without a configured credential only loopback is served', {
      details: { option: 'security.apiKeys' },
    });
  };
}

/** Headers by which proxies say that they are there. */
const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'] as const;

/**
 * Refuses requests that did not come straight from this machine: a proxy on it connects from loopback as well, with the name
 * that its clients use, or says for whom it asks.
 */
export function sameMachineOnly(): Step {
  return ({ req }) => {
    const host = hostNameOf(header(req, 'host') ?? '');
    const straight = FORWARDED.every((name) => req.headers[name] === undefined);
    if (isLocal(req.socket) && straight && host !== undefined && isLoopback(host)) return;
    throw new RdcpError('RDCP_FORBIDDEN', 'One-time codes are for browsers on the machine of the service', {
      details: { reason: 'not_local' },
    });
  };
}

/** Unix sockets and broken connections have no addresses. */
function isLocal({ remoteAddress, localAddress, destroyed }: Socket): boolean {
  const addresses = [remoteAddress, localAddress];
  return addresses.every((address) => address === undefined || isLoopback(address)) && !destroyed;
}
