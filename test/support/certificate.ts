import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// Certificates and revocation lists (RFC 5280) as DER by hand: Node signs, but makes none.

function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const sequence = (...parts: Buffer[]) => der(0x30, ...parts);
const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'));
/** Up to 32,767. A leading bit that is set would make the number negative. */
const integer = (value: number) =>
  der(0x02, Buffer.from(value < 0x80 ? [value] : value < 0x100 ? [0, value] : [value >> 8, value & 0xff]));
const time = (epochMs: number) =>
  der(0x18, Buffer.from(`${new Date(epochMs).toISOString().replace(/[-:T]|\.\d{3}/g, '')}`));
const name = (commonName: string) => sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(commonName)))));

const ECDSA_WITH_SHA256 = sequence(oid('2a8648ce3d040302'));
const TRUE = der(0x01, Buffer.from([0xff]));
const HOUR_MS = 3_600_000;

const USAGES = { server: oid('2b06010505070301'), client: oid('2b06010505070302') };
const CA = sequence(oid('551d13'), TRUE, der(0x04, sequence(TRUE)));
const extendedKeyUsage = (usage: keyof typeof USAGES) => sequence(oid('551d25'), der(0x04, sequence(USAGES[usage])));
const LOCALHOST = sequence(
  oid('551d11'),
  der(0x04, sequence(der(0x82, Buffer.from('localhost')), der(0x87, Buffer.from([127, 0, 0, 1])))),
);

/** A PEM certificate and its key. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
  readonly serial: number;
}

export interface CertificateOptions {
  /** What it may be used for. @default anything: it does not say */
  readonly usage?: keyof typeof USAGES;
  /** Milliseconds since the epoch. @default an hour ago */
  readonly from?: number;
  /** Milliseconds since the epoch. @default in a day */
  readonly to?: number;
}

export interface Authority {
  readonly cert: string;
  issue(commonName: string, options?: CertificateOptions): Certificate;
  /** An authority under this one. */
  subordinate(commonName: string): Authority;
  /** The list of what is revoked. @param nextUpdate milliseconds since the epoch; @default in a day */
  revocationList(serials?: readonly number[], nextUpdate?: number): string;
}

let serials = 1;

export function createAuthority(commonName = `Authority ${serials}`): Authority {
  const keys = newKeys();
  const cert = certificate({
    subject: commonName,
    issuer: commonName,
    keys,
    signer: keys.privateKey,
    extensions: [CA],
  });
  return authority(commonName, keys.privateKey, cert.pem);
}

function authority(commonName: string, signer: KeyObject, cert: string): Authority {
  return {
    cert,
    issue: (subject, { usage, from, to } = {}) => {
      const keys = newKeys();
      const extensions = [...(usage === undefined ? [] : [extendedKeyUsage(usage)]), LOCALHOST];
      const { pem, serial } = certificate({ subject, issuer: commonName, keys, signer, extensions, from, to });
      return { cert: pem, key: pemOf(keys.privateKey), serial };
    },
    subordinate: (subject) => {
      const keys = newKeys();
      const { pem } = certificate({ subject, issuer: commonName, keys, signer, extensions: [CA] });
      return authority(subject, keys.privateKey, pem);
    },
    revocationList: (revoked = [], nextUpdate = Date.now() + 24 * HOUR_MS) => {
      const now = Date.now() - 1000;
      const entries = revoked.map((serial) => sequence(integer(serial), time(now)));
      const body = sequence(
        integer(1),
        ECDSA_WITH_SHA256,
        name(commonName),
        time(now),
        time(nextUpdate),
        ...(entries.length === 0 ? [] : [sequence(...entries)]),
      );
      return pemBlock('X509 CRL', signed(body, signer));
    },
  };
}

/** A certificate that vouches for itself, for localhost and 127.0.0.1. */
export function selfSigned(options: CertificateOptions = {}): Certificate {
  const keys = newKeys();
  const { privateKey: signer } = keys;
  const extensions = [LOCALHOST];
  const { pem, serial } = certificate({
    subject: 'localhost',
    issuer: 'localhost',
    keys,
    signer,
    extensions,
    ...options,
  });
  return { cert: pem, key: pemOf(signer), serial };
}

/** Writes a new self-signed certificate and its key into a directory of their own. */
export function writeCertificate(): { certFile: string; keyFile: string; cert: string } {
  const { cert, key } = selfSigned();
  return { ...writePems({ certFile: cert, keyFile: key }), cert };
}

/** Writes each text into a file of its own, in one new directory. The paths, by the names of the texts. */
export function writePems<T extends Record<string, string>>(texts: T): { [name in keyof T]: string } {
  const directory = mkdtempSync(join(tmpdir(), 'rdcp-certificate-'));
  const written = Object.entries(texts).map(([file, text]) => {
    const path = join(directory, `${file}.pem`);
    writeFileSync(path, text, { mode: 0o600 });
    return [file, path];
  });
  return Object.fromEntries(written);
}

interface Contents {
  readonly subject: string;
  readonly issuer: string;
  readonly keys: { readonly publicKey: KeyObject };
  readonly signer: KeyObject;
  readonly extensions: readonly Buffer[];
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

function certificate(contents: Contents): { pem: string; serial: number } {
  const {
    subject,
    issuer,
    keys,
    signer,
    extensions,
    from = Date.now() - HOUR_MS,
    to = Date.now() + 24 * HOUR_MS,
  } = contents;
  const serial = serials++;
  const body = sequence(
    der(0xa0, integer(2)),
    integer(serial),
    ECDSA_WITH_SHA256,
    name(issuer),
    sequence(time(from), time(to)),
    name(subject),
    keys.publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  );
  return { pem: pemBlock('CERTIFICATE', signed(body, signer)), serial };
}

function signed(body: Buffer, signer: KeyObject): Buffer {
  return sequence(body, ECDSA_WITH_SHA256, der(0x03, Buffer.from([0]), sign('sha256', body, signer)));
}

function newKeys() {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' });
}

function pemOf(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}

function pemBlock(label: string, bytes: Buffer): string {
  return `-----BEGIN ${label}-----\n${bytes.toString('base64').replace(/.{64}(?=.)/g, '$&\n')}\n-----END ${label}-----\n`;
}
