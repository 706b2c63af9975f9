import type { Socket } from 'node:net';
import type { Server, TLSSocket } from 'node:tls';
import { unmapped } from '../request.ts';

/** Why a client certificate was refused: a bounded set, because it becomes a metric attribute. */
type CertificateRefusal =
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
  /** The client's address; absent when the connection closed too early. */
  readonly address?: string;
}

/** Reasons by OpenSSL verification error; any other is `certificate_refused`. */
const REASONS: Readonly<Record<string, CertificateRefusal>> = {
  CERT_REVOKED: 'certificate_revoked',
  CERT_HAS_EXPIRED: 'certificate_expired',
  CERT_NOT_YET_VALID: 'certificate_not_yet_valid',
  INVALID_PURPOSE: 'certificate_wrong_purpose',
  CRL_HAS_EXPIRED: 'revocation_list_expired',
  // Every trusted authority has a list, so this authority is not trusted.
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

/** Calls `refused` for every handshake that failed because of the client's certificate. */
export function watchHandshakes(server: Server, refused: (refusal: HandshakeRefusal) => void): void {
  // Reading the address once makes Node remember it; after the connection closed, it would be lost.
  server.on('connection', ({ remoteAddress: _ }: Socket) => {});
  server.on('tlsClientError', (error: NodeJS.ErrnoException, socket: TLSSocket) => {
    const reason = reasonOf(error, socket);
    if (reason === undefined) return;
    const address = addressOf(socket);
    refused({ reason, ...(address !== undefined && { address: unmapped(address) }) });
  });
}

/**
 * `undefined` for handshakes that failed for other reasons, such as a port scanner, plain HTTP or an old TLS version.
 * Node destroys the socket of a refused certificate with ECONNRESET: the verification error is on the socket, but the
 * certificate is gone.
 */
function reasonOf({ code }: NodeJS.ErrnoException, socket: TLSSocket): CertificateRefusal | undefined {
  if (code === 'ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE') return 'certificate_missing';
  // An OpenSSL code, although the type says Error.
  const verification: unknown = socket.authorizationError;
  return typeof verification === 'string' ? (REASONS[verification] ?? 'certificate_refused') : undefined;
}

/** A destroyed TLS socket has lost its address, but the connection below it has not. */
function addressOf(socket: TLSSocket): string | undefined {
  const connection = Reflect.get(socket, '_parent') as Socket | null | undefined;
  return socket.remoteAddress ?? connection?.remoteAddress;
}
