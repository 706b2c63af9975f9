import type { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import type { ClientTrust } from './tls-trust.ts';

/** The open connections of clients with certificates. */
export interface ClientConnections {
  /** Remembers a connection until it closes. */
  opened(connection: TLSSocket): void;
  /**
   * Judges every open connection anew, by the authorities and revocation lists that hold from now on. One whose
   * certificate cannot be vouched for is cut off: its client may come again, and the handshake decides.
   */
  trust(trust: ClientTrust): void;
  /** Cuts off connections whose certificate has expired. @param epochMs the time */
  expire(epochMs: number): void;
}

/**
 * A handshake judges a certificate once; a connection lives on, and this ends it when the certificate does.
 * @param handshakeMs how long a handshake may take
 * @param now milliseconds of a clock that never goes back
 */
export function createClientConnections(handshakeMs: number, now: () => number): ClientConnections {
  const open = new Map<TLSSocket, X509Certificate>();
  let changed: { readonly trust: ClientTrust; readonly at: number } | undefined;
  return {
    opened: (connection) => {
      const certificate = connection.getPeerX509Certificate();
      // The handshake may have begun before the last change, and have gone by what held then.
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
