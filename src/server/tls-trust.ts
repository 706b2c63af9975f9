import type { X509Certificate } from 'node:crypto';
import { issuedAs, type RevocationList } from './tls-revocation.ts';

/**
 * Which client certificates are accepted. OpenSSL decides that in the handshake; this says it again later, of
 * connections that are open already when the authorities or their revocation lists change.
 */
export interface ClientTrust {
  /**
   * Whether a chain over the configured authorities alone leads from the certificate to one that vouches for itself, with
   * nothing revoked in it. Authorities that the client sends along are not known here: Node shows the certificate alone.
   */
  accepts(certificate: X509Certificate): boolean;
}

/** Longer chains are not followed, so that certificates which have issued each other end nowhere. */
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

/** The blocks of a PEM file that have the label (RFC 7468). */
export function pemBlocks(pem: string, label: string): string[] {
  return pem.match(new RegExp(`-----BEGIN ${label}-----[^-]+-----END ${label}-----`, 'g')) ?? [];
}
