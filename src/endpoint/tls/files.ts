import { constants, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import type { ResolvedConfig } from '../../options/config.ts';
import { configurationError, type RdcpError } from '../../wire/errors.ts';
import { codeOf } from '../../wire/thrown.ts';

export type TlsConfig = NonNullable<Exclude<ResolvedConfig['server'], false>['tls']>;
type TlsField = keyof TlsConfig;
export const TLS_FIELDS: readonly TlsField[] = ['certFile', 'keyFile', 'clientCaFile', 'crlFile'];

/** The text of the configured files. */
export type TlsTexts = { readonly [field in TlsField]?: string };

/** The listener's settings from the files. */
interface TlsSettings {
  readonly context: SecureContextOptions;
  readonly certificate: X509Certificate;
}

/** @throws {RdcpError} `RDCP_CONFIG_INVALID` for a file that cannot be read: it names the field, and not the path */
export async function readTexts(config: TlsConfig): Promise<TlsTexts> {
  const texts: Partial<Record<TlsField, string>> = {};
  for (const field of TLS_FIELDS) {
    const path = config[field];
    if (path === undefined) continue;
    texts[field] = await readFile(path, 'utf8').catch((error: unknown) => {
      // Without the cause, whose message contains the path.
      throw invalid(field, `cannot be read (${codeOf(error) ?? 'unknown error'})`);
    });
  }
  return texts;
}

/**
 * Checks the files and combines them.
 * @param production whether self-signed certificates are refused (RDCP 1.0, Transport)
 * @throws {RdcpError} `RDCP_CONFIG_INVALID`, one line that names the field, without the file's path or content
 */
export function readTls(texts: TlsTexts, production: boolean): TlsSettings {
  const certificate = certificates(texts, 'certFile')[0]!;
  if (!certificate.checkPrivateKey(privateKey(texts))) {
    throw invalid('keyFile', 'is not the key of the certificate in server.tls.certFile');
  }
  if (production && isSelfSigned(certificate)) {
    throw invalid('certFile', 'is self-signed, which is not allowed in production (NODE_ENV=production)');
  }
  const identity: SecureContextOptions = { minVersion: 'TLSv1.3', cert: texts.certFile, key: texts.keyFile };
  assertUsable(identity, 'certFile', 'cannot be used for TLS');
  if (texts.clientCaFile === undefined) return { context: identity, certificate };
  const authorities = certificates(texts, 'clientCaFile').map((authority) => authority.toString());
  const clients: SecureContextOptions = {
    ...identity,
    ca: authorities,
    // A resumed session is not verified again, so it would accept a certificate revoked since. Without tickets OpenSSL
    // uses a session cache, and we have none, so every connection presents its certificate.
    secureOptions: constants.SSL_OP_NO_TICKET,
  };
  assertUsable(clients, 'clientCaFile', 'cannot be used for TLS');
  if (texts.crlFile === undefined) return { context: clients, certificate };
  const lists = pemBlocks(texts.crlFile, 'X509 CRL');
  // OpenSSL refuses every client of an authority without a list, in the handshake.
  if (lists.length < authorities.length) {
    throw invalid('crlFile', 'must hold a revocation list of every authority in server.tls.clientCaFile');
  }
  const context = { ...clients, crl: lists };
  assertUsable(context, 'crlFile', 'holds a broken revocation list');
  return { context, certificate };
}

function certificates(texts: TlsTexts, field: TlsField): X509Certificate[] {
  const blocks = pemBlocks(texts[field] ?? '', 'CERTIFICATE');
  if (blocks.length === 0) throw invalid(field, 'holds no PEM certificate');
  try {
    return blocks.map((block) => new X509Certificate(block));
  } catch (cause) {
    throw invalid(field, 'holds a broken certificate', cause);
  }
}

function privateKey({ keyFile = '' }: TlsTexts): KeyObject {
  try {
    return createPrivateKey(keyFile);
  } catch (cause) {
    throw invalid('keyFile', 'holds no PEM private key, or one with a passphrase', cause);
  }
}

/** OpenSSL makes the final check, for instance of key lengths and revocation lists. */
function assertUsable(options: SecureContextOptions, field: TlsField, problem: string): void {
  try {
    createSecureContext(options);
  } catch (cause) {
    throw invalid(field, problem, cause);
  }
}

function isSelfSigned(certificate: X509Certificate): boolean {
  return certificate.checkIssued(certificate) && certificate.verify(certificate.publicKey);
}

/** The blocks of a PEM file with a given label (RFC 7468). */
function pemBlocks(pem: string, label: string): string[] {
  return pem.match(new RegExp(`-----BEGIN ${label}-----[^-]+-----END ${label}-----`, 'g')) ?? [];
}

export function invalid(field: TlsField, problem: string, cause?: unknown): RdcpError {
  return configurationError(`server.tls.${field}`, problem, cause);
}
