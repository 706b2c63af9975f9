import type { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import type { ClientTrust } from './tls-trust.ts';

/** The open connections of clients with certificates. */
export interface ClientConnections {
  /** Tracks a connection until it closes. */
  opened(connection: TLSSocket): void;
  /**
   * Checks every open connection against new authorities and revocation lists. A connection whose certificate is no
   * longer trusted is closed; the client may reconnect, and the handshake decides.
   */
  trust(trust: ClientTrust): void;
  /** Closes connections whose certificate has expired. @param epochMs the time */
  expire(epochMs: number): void;
}

/**
 * A handshake checks a certificate once, but a connection lives on. This closes it when the certificate loses its
 * validity.
 * @param handshakeMs how long a handshake may take
 * @param now a monotonic clock, in milliseconds
 */
export function createClientConnections(handshakeMs: number, now: () => number): ClientConnections {
  const open = new Map<TLSSocket, X509Certificate>();
  let changed: { readonly trust: ClientTrust; readonly at: number } | undefined;
  return {
    opened: (connection) => {
      const certificate = connection.getPeerX509Certificate();
      // The handshake may have started before the last change, under the old rules.
      const judge = changed !== undefined && now() - changed.at <= handshakeMs ? changed.trust : undefined;
      if (certificate === undefined || judge?.accepts(certificate) === false) {
        connection.destroy();
        return;
      }
      open.set(connection, certificate);
      connection.once('close', () => open.delete(connection));
    },
    trust: (trust) => {
      changed = { trust, at: now() };
      for (const [connection, certificate] of open) if (!trust.accepts(certificate)) connection.destroy();
    },
    expire: (epochMs) => {
      for (const [connection, { validToDate }] of open) if (validToDate.getTime() < epochMs) connection.destroy();
    },
  };
}
