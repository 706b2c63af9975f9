import { hash, type X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import type { CertificateIdentity } from '../options/options.ts';
import { limitsOf } from '../wire/allow.ts';
import { configurationError } from '../wire/errors.ts';
import { given } from '../wire/json-text.ts';
import type { Clock } from '../wire/time/clock.ts';
import type { ClientCertificate } from './authenticator.ts';
import type { Principal } from './principal.ts';
import { refusal } from './refusal.ts';

export type CertificateVerifier = ReturnType<typeof createCertificateVerifier>;
export type VerifiedCertificate = ReturnType<CertificateVerifier['verify']>;

/** TLS verifies chain and revocation in the handshake. The validity is checked for each request: connections can outlive it. */
export function createCertificateVerifier(identities: readonly CertificateIdentity[], clock: Pick<Clock, 'now'>) {
  const identify = createIdentification(identities);
  return {
    /** @throws {RdcpError} `RDCP_AUTH_FAILED`, `invalid_certificate` */
    verify: ({ certificate, authorized }: ClientCertificate): { readonly identity?: Principal } => {
      const now = clock.now();
      const expiresAt = certificate.validToDate.getTime();
      const isValid = now >= certificate.validFromDate.getTime() && now < expiresAt;
      if (!authorized || !isValid) throw refusal('mtls');
      const found = identify(certificate);
      return found === undefined ? {} : { identity: { ...found, expiresAt } };
    },
  };
}

function createIdentification(identities: readonly CertificateIdentity[]) {
  const byFingerprint = new Map<string, Principal>();
  const byName = new Map<string, Principal>();
  const bySubject = new Map<string, Principal>();
  for (const [index, identity] of identities.entries()) {
    const field = `security.mtls.identities.${index}`;
    const { fingerprint256, san, subject } = identity;
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

function principalOf(identity: CertificateIdentity): Principal {
  const { userId, clientId, tenantId, tenants, scopes } = identity;
  return {
    method: 'mtls',
    userId,
    clientId: clientId ?? userId,
    ...given({ tenantId, tenants }),
    scopes: [...new Set(scopes)],
    ...limitsOf(identity),
  };
}

const TYPES: Readonly<Record<string, string>> = {
  dns: 'DNS',
  uri: 'URI',
  email: 'email',
  'ip address': 'IP Address',
  ip: 'IP Address',
};
const TYPED = /^(DNS|URI|email|IP Address|IP):(.*)$/is;

/** The names of a certificate, such as `DNS:ops.example`. Node quotes names that contain a comma or a quote, so that one name cannot be read as two. */
function alternativeNames({ subjectAltName }: X509Certificate): string[] {
  if (subjectAltName === undefined) return [];
  return subjectAltName.split(', ').flatMap((entry) => {
    const [, type = '', value = ''] = TYPED.exec(entry) ?? [];
    return type === '' ? [] : [normalize(type, unquote(value))];
  });
}

/** Returns a configured name, normalized. Infers the type of a name without one. */
function configuredAlternativeName(name: string): string {
  const [, type, value] = TYPED.exec(name) ?? [];
  if (type !== undefined && value !== undefined) return normalize(type, value);
  if (name.includes('://')) return normalize('URI', name);
  if (name.includes('@')) return normalize('email', name);
  return normalize(isIP(name) === 0 ? 'DNS' : 'IP Address', name);
}

function normalize(type: string, value: string): string {
  const kind = TYPES[type.toLowerCase()];
  if (kind === 'DNS') return `DNS:${value.toLowerCase()}`;
  if (kind === 'IP Address') return `IP Address:${isIP(value) === 6 ? new URL(`http://[${value}]`).hostname : value}`;
  return `${kind}:${value}`;
}

function unquote(value: string): string {
  return value.startsWith('"') ? String(JSON.parse(value)) : value;
}

/** Returns the subject of a certificate in both orders: RFC 4514 reverses the order of the certificate. */
function subjectOf({ subject }: X509Certificate): string[] {
  // An empty subject is `undefined`, despite the type.
  const parts = (subject as string | undefined)?.split('\n').map(attribute) ?? [];
  return parts.length === 0 ? [] : [parts.join('\n'), parts.toReversed().join('\n')];
}

/** Returns a configured subject, normalized. Parts are separated by commas, or by line feeds as in Node. */
function configuredSubject(subject: string): string {
  return subject
    .split(/\n|(?<!\\),/)
    .map(attribute)
    .join('\n');
}

/** Attribute names are case-insensitive; values are case-sensitive. */
function attribute(text: string): string {
  const [, name = '', value = ''] = /^\s*([^=]*?)\s*=\s*(.*?)\s*$/s.exec(text) ?? [];
  return `${name.toUpperCase()}=${value}`;
}
