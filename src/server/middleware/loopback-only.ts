import { RdcpError } from '../../errors.ts';
import type { Step } from '../context.ts';
import { isLoopback } from '../host-policy.ts';

/**
 * Refuses what came from, or to, another address than loopback: without a configured credential the endpoint is for the
 * developer on this machine. The connection itself is judged; what headers say of it counts for nothing.
 */
export function loopbackOnly(): Step {
  return ({ req: { socket } }) => {
    // A Unix socket has no addresses; a connection that broke has none either.
    const local = [socket.remoteAddress, socket.localAddress].every(
      (address) => address === undefined || isLoopback(address),
    );
    if (local && !socket.destroyed) return;
    throw new RdcpError('RDCP_FORBIDDEN', 'Without a configured credential only loopback is served', {
      details: { option: 'security.apiKeys' },
    });
  };
}
