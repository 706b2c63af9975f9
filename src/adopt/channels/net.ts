import type { Server, Socket } from 'node:net';
import { isOwnWork } from '../../otel/own-work.ts';
import type { Family } from './family.ts';
import { errorType, type Fields } from './fields.ts';

interface SocketMessage {
  readonly socket: Socket;
}

interface ListenMessage {
  readonly server: Server;
  readonly error?: unknown;
}

export const NET: Family = {
  category: 'NET',
  description: 'connections that node:net opens and accepts, and addresses that it listens on',
  follow({ category, operations, listeners }) {
    function untilClosed(socket: Socket, message?: string): void {
      operations.begin(socket, addressesOf(socket), message);
      listeners.first(socket, {
        close: () =>
          operations.end(socket, 'connection closed', {
            'network.bytes_received': socket.bytesRead,
            'network.bytes_sent': socket.bytesWritten,
          }),
      });
    }

    return {
      'net.client.socket': ({ socket }: SocketMessage) => {
        if (isOwnWork()) return;
        operations.begin(socket, {});
        listeners.first(socket, {
          connect() {
            operations.end(socket, 'connection established', addressesOf(socket));
            untilClosed(socket);
          },
          close: () => operations.end(socket, 'connection failed'),
        });
      },
      'net.server.socket': ({ socket }: SocketMessage) => {
        if (!isOwnWork()) untilClosed(socket, 'connection accepted');
      },
      'tracing:net.server.listen:asyncEnd': ({ server }: ListenMessage) => {
        if (!isOwnWork()) category.debug('listening', listeningOn(server));
      },
      'tracing:net.server.listen:error': ({ error }: ListenMessage) => {
        if (!isOwnWork()) category.debug('listening failed', errorType(error));
      },
    };
  },
};

function addressesOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): Fields {
  return {
    'network.peer.address': remoteAddress,
    'network.peer.port': remotePort,
    'network.local.address': localAddress,
    'network.local.port': localPort,
  };
}

/** A Unix socket has its path for an address. */
function listeningOn(server: Server): Fields {
  const address = server.address();
  if (address === null || typeof address === 'string') return { 'network.local.address': address ?? undefined };
  return { 'network.local.address': address.address, 'network.local.port': address.port };
}
