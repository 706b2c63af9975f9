import { RdcpError } from '../../errors.ts';
import { isLoopback } from '../../hosts.ts';
import type { Step } from '../context.ts';

/**
 * Refuses connections from beyond loopback: without a configured credential, only the developer on this machine has
 * access. Checks the socket, never a header.
 */
export function loopbackOnly(): Step {
  return ({ req: { socket } }) => {
    // Unix sockets and broken connections have no addresses.
    const local = [socket.remoteAddress, socket.localAddress].every(
      (address) => address === undefined || isLoopback(address),
    );
    if (local && !socket.destroyed) return;
    throw new RdcpError('RDCP_FORBIDDEN', 'Without a configured credential only loopback is served', {
      details: { option: 'security.apiKeys' },
    });
  };
}
