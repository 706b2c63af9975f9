import { hash, type X509Certificate } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { configurationError } from '../errors.ts';
import type { CertificateIdentity } from '../options.ts';
import type { ClientCertificate } from './authenticator.ts';
import { alternativeNames, configuredAlternativeName, configuredSubject, subjectOf } from './certificate-names.ts';
import type { Principal } from './principal.ts';
import { refusal } from './refusal.ts';

export type { CertificateIdentity };

/** A certificate that is valid for TLS and not expired. */
export interface VerifiedCertificate {
  /** SHA-256 of the certificate, base64url (RFC 8705, section 3.1). */
  readonly thumbprint: string;
  /** The configured identity, if any. */
  readonly identity?: Principal;
}

export interface CertificateVerifier {
  /** @throws {RdcpError} `RDCP_AUTH_FAILED`, `invalid_certificate` */
  verify(presented: ClientCertificate): VerifiedCertificate;
}

interface Known {
  readonly verified: VerifiedCertificate;
  /** Milliseconds since the epoch. */
  readonly from: number;
  readonly to: number;
}

/**
 * Verifies client certificates. TLS verifies chain and revocation in the handshake. The validity period is checked for every
 * request, because connections can outlive it.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` for an invalid identity
 */
export function createCertificateVerifier(
  identities: readonly CertificateIdentity[],
  clock: Pick<Clock, 'now'>,
): CertificateVerifier {
  const identify = createIdentification(identities);
  const seen = new WeakMap<X509Certificate, Known>();
  return {
    verify: ({ certificate, authorized }) => {
      if (!authorized) throw refusal('mtls');
      const known = seen.get(certificate) ?? read(certificate, identify);
      seen.set(certificate, known);
      const now = clock.now();
      if (!(now >= known.from && now < known.to)) throw refusal('mtls');
      return known.verified;
    },
  };
}

function read(certificate: X509Certificate, identify: (certificate: X509Certificate) => Principal | undefined): Known {
  const from = certificate.validFromDate.getTime();
  const to = certificate.validToDate.getTime();
  const found = identify(certificate);
  return {
    verified: {
      thumbprint: hash('sha256', certificate.raw, 'base64url'),
      ...(found !== undefined && { identity: { ...found, expiresAt: to } }),
    },
    from,
    to,
  };
}

/** Returns a function that maps a certificate by its fingerprint, else an alternative name, else its subject. */
function createIdentification(identities: readonly CertificateIdentity[]) {
  const byFingerprint = new Map<string, Principal>();
  const byName = new Map<string, Principal>();
  const bySubject = new Map<string, Principal>();
  for (const [index, identity] of identities.entries()) {
    const field = `security.mtls.identities.${index}`;
    const { fingerprint256, san, subject } = identity;
    if ([fingerprint256, san, subject].filter((name) => name !== undefined).length !== 1) {
      throw configurationError(field, 'must hold one of fingerprint256, san and subject');
    }
    const add = (names: Map<string, Principal>, name: string) => {
      if (names.has(name)) throw configurationError(field, 'matches the same certificate as an earlier identity');
      names.set(name, principalOf(identity));
    };
    if (fingerprint256 !== undefined) add(byFingerprint, fingerprint256.replaceAll(':', '').toLowerCase());
    if (san !== undefined) add(byName, configuredAlternativeName(san));
    if (subject !== undefined) add(bySubject, configuredSubject(subject));
  }
  return (certificate: X509Certificate): Principal | undefined =>
    byFingerprint.get(hash('sha256', certificate.raw, 'hex')) ??
    alternativeNames(certificate)
      .map((name) => byName.get(name))
      .find((principal) => principal !== undefined) ??
    subjectOf(certificate)
      .map((name) => bySubject.get(name))
      .find((principal) => principal !== undefined);
}

function principalOf({ userId, clientId, tenantId, scopes }: CertificateIdentity): Principal {
  return {
    method: 'mtls',
    userId,
    clientId: clientId ?? userId,
    ...(tenantId !== undefined && { tenantId }),
    scopes: [...new Set(scopes)],
  };
}
