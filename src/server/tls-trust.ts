import { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import { issuedAs, type RevocationList } from './tls-revocation.ts';

/**
 * Which client certificates are accepted. OpenSSL decides that in the handshake; this says it again later, of
 * connections that are open already when the authorities or their revocation lists change.
 */
export interface ClientTrust {
  /** @param chain the certificate, and what its owner sent along to lead to an authority */
  accepts(chain: readonly X509Certificate[]): boolean;
}

/** Longer chains are not followed, so that certificates which have issued each other end nowhere. */
const MAX_DEPTH = 10;

export function createClientTrust(
  authorities: readonly X509Certificate[],
  lists: readonly RevocationList[],
): ClientTrust {
  const anchors = new Set(authorities.map(({ fingerprint256 }) => fingerprint256));
  const isAnchor = (certificate: X509Certificate) =>
    anchors.has(certificate.fingerprint256) && isSelfSigned(certificate);
  const isRevoked = (certificate: X509Certificate) => {
    const { issuer, serial } = issuedAs(certificate);
    return lists.some((list) => list.issuer === issuer && list.serials.has(serial));
  };

  return {
    accepts: (chain) => {
      const known = [...authorities, ...chain];
      let certificate = chain[0];
      for (let depth = 0; certificate !== undefined && depth < MAX_DEPTH; depth++) {
        if (isRevoked(certificate)) return false;
        if (isAnchor(certificate)) return true;
        certificate = issuerOf(certificate, known);
      }
      return false;
    },
  };
}

export function isSelfSigned(certificate: X509Certificate): boolean {
  return isIssuedBy(certificate, certificate);
}

function issuerOf(certificate: X509Certificate, known: readonly X509Certificate[]): X509Certificate | undefined {
  return known.find((candidate) => candidate !== certificate && isIssuedBy(certificate, candidate));
}

function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

/** The peer's certificate and what it sent along; empty without a certificate. */
export function peerChain(socket: Pick<TLSSocket, 'getPeerX509Certificate'>): X509Certificate[] {
  const chain: X509Certificate[] = [];
  let certificate = socket.getPeerX509Certificate();
  while (certificate !== undefined && chain.length < MAX_DEPTH) {
    chain.push(certificate);
    certificate = certificate.issuerCertificate;
  }
  return chain;
}

/** Every certificate of a PEM file. @throws {Error} when one of them is broken */
export function certificatesOf(pem: string): X509Certificate[] {
  return pemBlocks(pem, 'CERTIFICATE').map((block) => new X509Certificate(block));
}

/** The blocks of a PEM file that have the label (RFC 7468). */
export function pemBlocks(pem: string, label: string): string[] {
  return pem.match(new RegExp(`-----BEGIN ${label}-----[^-]+-----END ${label}-----`, 'g')) ?? [];
}
