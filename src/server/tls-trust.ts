import type { X509Certificate } from 'node:crypto';
import { issuedAs, type RevocationList } from './tls-revocation.ts';

/**
 * Decides which client certificates are trusted. OpenSSL decides in the handshake; this repeats the decision for open
 * connections when authorities or revocation lists change.
 */
export interface ClientTrust {
  /**
   * Whether a chain of configured authorities leads from the certificate to a self-signed one, without a revoked
   * certificate. Authorities sent by the client are unknown here, because Node exposes only the certificate.
   */
  accepts(certificate: X509Certificate): boolean;
}

/** Longer chains are not followed, which also ends cycles. */
const MAX_DEPTH = 10;

export function createClientTrust(
  authorities: readonly X509Certificate[],
  lists: readonly RevocationList[],
): ClientTrust {
  const isRevoked = (certificate: X509Certificate) => {
    const { issuer, serial } = issuedAs(certificate);
    return lists.some((list) => list.issuer === issuer && list.serials.has(serial));
  };
  return {
    accepts: (certificate) => {
      let link: X509Certificate | undefined = certificate;
      for (let depth = 0; depth < MAX_DEPTH; depth++) {
        if (link === undefined || isRevoked(link)) return false;
        if (authorities.includes(link) && isSelfSigned(link)) return true;
        link = issuerOf(link, authorities);
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

/** The blocks of a PEM file with a given label (RFC 7468). */
export function pemBlocks(pem: string, label: string): string[] {
  return pem.match(new RegExp(`-----BEGIN ${label}-----[^-]+-----END ${label}-----`, 'g')) ?? [];
}
