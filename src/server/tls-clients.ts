import type { X509Certificate } from 'node:crypto';
import type { ServerHttp2Session } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { type ClientTrust, peerChain } from './tls-trust.ts';

/** Where requests come from: a TLS connection of HTTP/1.1, or a session of HTTP/2. */
export type ClientConnection = TLSSocket | ServerHttp2Session;

/** The open connections of clients with certificates. */
export interface ClientConnections {
  /** Remembers a connection, until it closes. One that nobody vouches for any more is cut off at once. */
  opened(connection: ClientConnection): void;
  /** Judges every open connection anew, by the authorities and revocation lists that hold from now on. */
  trust(trust: ClientTrust): void;
  /** Cuts off connections whose certificate has expired. */
  expire(now: number): void;
}

interface Open {
  readonly chain: readonly X509Certificate[];
  /** Milliseconds since the epoch. */
  readonly validTo: number;
}

/** A handshake judges a certificate once; a connection lives on, and this ends it when the certificate does. */
export function createClientConnections(initial: ClientTrust): ClientConnections {
  const open = new Map<ClientConnection, Open>();
  let current = initial;
  return {
    opened: (connection) => {
      const chain = peerChain('socket' in connection ? (connection.socket as TLSSocket) : connection);
      // The handshake may have begun before the last reload.
      if (!current.accepts(chain)) {
        connection.destroy();
        return;
      }
      open.set(connection, { chain, validTo: Math.min(...chain.map(({ validToDate }) => validToDate.getTime())) });
      connection.once('close', () => open.delete(connection));
    },
    trust: (trust) => {
      current = trust;
      for (const [connection, { chain }] of open) if (!trust.accepts(chain)) connection.destroy();
    },
    expire: (now) => {
      for (const [connection, { validTo }] of open) if (validTo < now) connection.destroy();
    },
  };
}
