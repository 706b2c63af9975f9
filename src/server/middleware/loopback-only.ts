import { RdcpError } from '../../errors.ts';
import { isLoopback } from '../../hosts.ts';
import type { Step } from '../context.ts';

/**
 * Refuses connections beyond loopback: without a configured credential the endpoint is for the developer on this machine.
 * Judged by the socket alone, never by a header.
 */
export function loopbackOnly(): Step {
  return ({ req: { socket } }) => {
    // A Unix socket has no addresses; neither has a broken connection.
    const local = [socket.remoteAddress, socket.localAddress].every(
      (address) => address === undefined || isLoopback(address),
    );
    if (local && !socket.destroyed) return;
    throw new RdcpError('RDCP_FORBIDDEN', 'Without a configured credential only loopback is served', {
      details: { option: 'security.apiKeys' },
    });
  };
}
