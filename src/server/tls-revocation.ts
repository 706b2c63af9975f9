import type { X509Certificate } from 'node:crypto';

/** The content of a certificate revocation list (RFC 5280, section 5). */
export interface RevocationList {
  /** Name of the authority, as DER bytes. */
  readonly issuer: string;
  /** Serial numbers of revoked certificates, in hex. */
  readonly serials: ReadonlySet<string>;
  /** When the list becomes out of date, in milliseconds since the epoch; absent when not stated. */
  readonly nextUpdate?: number;
}

/** The issuer and serial number of a certificate, by which a revocation list identifies it. */
export interface Issued {
  readonly issuer: string;
  readonly serial: string;
}

/** Tags of the ASN.1 types used here (X.690). */
const INTEGER = 0x02;
const UTC_TIME = 0x17;
const GENERALIZED_TIME = 0x18;
const SEQUENCE = 0x30;
const EXPLICIT_VERSION = 0xa0;

interface Element {
  readonly tag: number;
  readonly content: Buffer;
  /** Including tag and length. */
  readonly bytes: Buffer;
}

/**
 * Parses the list. Its signature is not checked here; OpenSSL does that in every handshake.
 * @throws {Error} when the bytes are not a revocation list
 */
export function parseRevocationList(der: Buffer): RevocationList {
  const fields = signedFields(der).filter(({ tag }) => tag !== INTEGER);
  const [, issuer, , ...rest] = fields;
  if (issuer?.tag !== SEQUENCE) throw malformed();
  const nextUpdate = rest.find(({ tag }) => tag === UTC_TIME || tag === GENERALIZED_TIME);
  const revoked = rest.find(({ tag }) => tag === SEQUENCE);
  const entries = revoked === undefined ? [] : elements(revoked.content);
  return {
    issuer: issuer.bytes.toString('hex'),
    serials: new Set(entries.map(({ content }) => serialOf(elements(content)[0]))),
    ...(nextUpdate !== undefined && { nextUpdate: instant(nextUpdate) }),
  };
}

/** @throws {Error} when the bytes are not a certificate */
export function issuedAs({ raw }: X509Certificate): Issued {
  const [serial, , issuer] = signedFields(raw).filter(({ tag }) => tag !== EXPLICIT_VERSION);
  if (issuer === undefined) throw malformed();
  return { serial: serialOf(serial), issuer: issuer.bytes.toString('hex') };
}

/** The name of the certificate's own subject, in the form of {@link Issued.issuer}. */
export function subjectOf({ raw }: X509Certificate): string {
  const subject = signedFields(raw).filter(({ tag }) => tag !== EXPLICIT_VERSION)[4];
  if (subject === undefined) throw malformed();
  return subject.bytes.toString('hex');
}

/** The fields of the signed part: the first element of a certificate or a list. */
function signedFields(der: Buffer): Element[] {
  const [whole] = elements(der);
  const [signed] = elements(whole?.content ?? der);
  if (whole?.tag !== SEQUENCE || signed?.tag !== SEQUENCE) throw malformed();
  return elements(signed.content);
}

function serialOf(element: Element | undefined): string {
  if (element?.tag !== INTEGER) throw malformed();
  return element.content.toString('hex');
}

function elements(der: Buffer): Element[] {
  const found: Element[] = [];
  for (let start = 0; start < der.length; ) {
    const tag = der.readUInt8(start);
    const first = der.readUInt8(start + 1);
    const lengthBytes = first < 0x80 ? 0 : first & 0x7f;
    const length = lengthBytes === 0 ? first : der.readUIntBE(start + 2, lengthBytes);
    const contentStart = start + 2 + lengthBytes;
    const end = contentStart + length;
    if (end > der.length) throw malformed();
    found.push({ tag, content: der.subarray(contentStart, end), bytes: der.subarray(start, end) });
    start = end;
  }
  return found;
}

/** RFC 5280, section 5.1.2.4: two-digit years until 2049, with seconds, in UTC. */
function instant({ tag, content }: Element): number {
  const text = content.toString('latin1');
  const digits = tag === GENERALIZED_TIME ? text : `${text < '5' ? '20' : '19'}${text}`;
  return Date.parse(digits.replace(/^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
}

function malformed(): Error {
  return new Error('not the DER of a certificate or a revocation list');
}
