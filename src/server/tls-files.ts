import { constants, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import type { ResolvedConfig } from '../config.ts';
import { configurationError, type RdcpError } from '../errors.ts';
import { parseRevocationList, type RevocationList, subjectOf } from './tls-revocation.ts';
import { type ClientTrust, createClientTrust, isSelfSigned, pemBlocks } from './tls-trust.ts';

export type TlsConfig = NonNullable<Exclude<ResolvedConfig['server'], false>['tls']>;
export type TlsField = keyof TlsConfig;

/** The text of the configured files. */
export type TlsTexts = { readonly [field in TlsField]?: string };

/** The context of these checks. */
export interface TlsSurroundings {
  /** RDCP 1.0, Transport: self-signed certificates must not be used in production. */
  readonly production: boolean;
}

/** The listener's settings from the files. */
export interface TlsSettings {
  readonly context: SecureContextOptions;
  /** Present when client certificates are required. */
  readonly clients?: ClientTrust;
  /** Date problems of the certificate and the revocation lists at a given time. They do not prevent the start. */
  readonly outOfDate: (now: number) => { readonly certFile?: RdcpError; readonly crlFile?: RdcpError };
}

/**
 * Checks the files and combines them.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID`, one line that names the field, without the file's path or content
 */
export function readTls(texts: TlsTexts, { production }: TlsSurroundings): TlsSettings {
  const chain = certificates(texts, 'certFile');
  const key = privateKey(texts);
  const [certificate] = chain;
  if (certificate?.checkPrivateKey(key) !== true) {
    throw invalid('keyFile', 'is not the key of the certificate in server.tls.certFile');
  }
  if (production && isSelfSigned(certificate)) {
    throw invalid('certFile', 'is self-signed, which is not allowed in production (NODE_ENV=production)');
  }
  const identity: SecureContextOptions = { minVersion: 'TLSv1.3', cert: texts.certFile, key: texts.keyFile };
  if (texts.clientCaFile === undefined) {
    return { context: usable(identity, 'certFile'), outOfDate: (at) => outOfDate(chain, [], at) };
  }
  const authorities = certificates(texts, 'clientCaFile');
  const lists = revocationLists(texts, authorities);
  const context: SecureContextOptions = {
    ...usable(identity, 'certFile'),
    ca: authorities.map((authority) => authority.toString()),
    ...(texts.crlFile !== undefined && { crl: pemBlocks(texts.crlFile, 'X509 CRL') }),
    // A resumed session is not verified again, so it would accept a certificate revoked since. Without tickets OpenSSL
    // uses a session cache, and we have none, so every connection presents its certificate.
    secureOptions: constants.SSL_OP_NO_TICKET,
  };
  return {
    context: usable(context, texts.crlFile === undefined ? 'clientCaFile' : 'crlFile'),
    clients: createClientTrust(authorities, lists),
    outOfDate: (at) => outOfDate(chain, lists, at),
  };
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

/**
 * OpenSSL needs a list for every authority in a chain, and otherwise refuses all of its clients. So a missing list is
 * reported at the start.
 */
function revocationLists({ crlFile }: TlsTexts, authorities: readonly X509Certificate[]): RevocationList[] {
  if (crlFile === undefined) return [];
  const lists = parseLists(crlFile);
  const issuers = new Set(lists.map(({ issuer }) => issuer));
  if (!authorities.every((authority) => issuers.has(subjectOf(authority)))) {
    throw invalid('crlFile', 'must hold a revocation list of every authority in server.tls.clientCaFile');
  }
  return lists;
}

function parseLists(pem: string): RevocationList[] {
  try {
    // The lines between the first and last line of a block.
    return pemBlocks(pem, 'X509 CRL').map((block) =>
      parseRevocationList(Buffer.from(block.split('\n').slice(1, -1).join(''), 'base64')),
    );
  } catch (cause) {
    throw invalid('crlFile', 'holds a broken revocation list', cause);
  }
}

/** OpenSSL makes the final check, for instance of key lengths. */
function usable(options: SecureContextOptions, field: TlsField): SecureContextOptions {
  try {
    createSecureContext(options);
    return options;
  } catch (cause) {
    throw invalid(field, 'cannot be used for TLS', cause);
  }
}

function outOfDate([certificate]: readonly X509Certificate[], lists: readonly RevocationList[], now: number) {
  const old = lists.some(({ nextUpdate }) => nextUpdate !== undefined && nextUpdate < now);
  return {
    ...(certificate !== undefined && !isValidAt(certificate, now) && { certFile: notValidNow(certificate) }),
    ...(old && {
      crlFile: invalid('crlFile', 'is out of date: every client certificate is refused until there is a newer one'),
    }),
  };
}

function isValidAt({ validFromDate, validToDate }: X509Certificate, now: number): boolean {
  return now >= validFromDate.getTime() && now <= validToDate.getTime();
}

function notValidNow({ validFrom, validTo }: X509Certificate): RdcpError {
  return invalid('certFile', `is valid from ${validFrom} to ${validTo} only: clients refuse it`);
}

export function invalid(field: TlsField, problem: string, cause?: unknown): RdcpError {
  return configurationError(`server.tls.${field}`, problem, cause);
}
