import type { Socket } from 'node:net';
import type { Server, TLSSocket } from 'node:tls';
import { unmapped } from './client-address.ts';

/** Why a client certificate was refused: a bounded set, as it becomes an attribute of a metric. */
export type CertificateRefusal =
  | 'certificate_missing'
  | 'certificate_revoked'
  | 'certificate_expired'
  | 'certificate_not_yet_valid'
  | 'certificate_untrusted'
  | 'certificate_wrong_purpose'
  | 'certificate_refused'
  | 'revocation_list_expired';

export interface HandshakeRefusal {
  readonly reason: CertificateRefusal;
  /** Of the client; absent where its connection was gone before it could be read. */
  readonly address?: string;
}

/** By the verification errors of OpenSSL; any other is `certificate_refused`. */
const REASONS: Readonly<Record<string, CertificateRefusal>> = {
  CERT_REVOKED: 'certificate_revoked',
  CERT_HAS_EXPIRED: 'certificate_expired',
  CERT_NOT_YET_VALID: 'certificate_not_yet_valid',
  INVALID_PURPOSE: 'certificate_wrong_purpose',
  CRL_HAS_EXPIRED: 'revocation_list_expired',
  // There is a list of every authority that is trusted, so this one is not.
  UNABLE_TO_GET_CRL: 'certificate_untrusted',
  UNABLE_TO_GET_ISSUER_CERT: 'certificate_untrusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'certificate_untrusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'certificate_untrusted',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'certificate_untrusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'certificate_untrusted',
  CERT_SIGNATURE_FAILURE: 'certificate_untrusted',
  CERT_UNTRUSTED: 'certificate_untrusted',
  CERT_REJECTED: 'certificate_untrusted',
  INVALID_CA: 'certificate_untrusted',
};

/** Calls `refused` for every handshake that ended at the client's certificate. */
export function watchHandshakes(server: Server, refused: (refusal: HandshakeRefusal) => void): void {
  // Node remembers the address of a connection that was asked for it once; later it is gone with the connection.
  server.on('connection', ({ remoteAddress: _ }: Socket) => {});
  server.on('tlsClientError', (error: NodeJS.ErrnoException, socket: TLSSocket) => {
    const reason = reasonOf(error, socket);
    if (reason === undefined) return;
    const address = addressOf(socket);
    refused({ reason, ...(address !== undefined && { address: unmapped(address) }) });
  });
}

/**
 * `undefined` for a handshake that failed for another reason, as that of a port scanner, a plain HTTP request or an old
 * version of TLS does. Node destroys the socket of a refused certificate with no error but ECONNRESET: the verification
 * error is on the socket, the certificate itself is gone by then.
 */
function reasonOf({ code }: NodeJS.ErrnoException, socket: TLSSocket): CertificateRefusal | undefined {
  if (code === 'ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE') return 'certificate_missing';
  // A code of OpenSSL, although the type says Error.
  const verification: unknown = socket.authorizationError;
  return typeof verification === 'string' ? (REASONS[verification] ?? 'certificate_refused') : undefined;
}

/** A destroyed TLS socket has no address any more, the connection under it has. */
function addressOf(socket: TLSSocket): string | undefined {
  const connection = Reflect.get(socket, '_parent') as Socket | null | undefined;
  return socket.remoteAddress ?? connection?.remoteAddress;
}
