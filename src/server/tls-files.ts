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

/** Where this is judged. */
export interface TlsSurroundings {
  /** RDCP 1.0, Transport: self-signed certificates must not be used in production. */
  readonly production: boolean;
}

/** What the files make of the listener. */
export interface TlsSettings {
  readonly context: SecureContextOptions;
  /** Present when client certificates are required. */
  readonly clients?: ClientTrust;
  /** What is wrong with the dates of the certificate and of the revocation lists at a time: it works, but not for long. */
  readonly outOfDate: (now: number) => { readonly certFile?: RdcpError; readonly crlFile?: RdcpError };
}

/**
 * Checks the files and puts them together.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID`, one line that names the field, and neither path nor content of its file
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
    // A resumed session is not verified again: it would let in a certificate that has been revoked since. Without tickets
    // OpenSSL looks sessions up in a cache, and ours has none, so that every connection shows its certificate.
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
 * OpenSSL wants a list of every authority in a chain, and refuses all the clients of one that has none. That is told at
 * the start, where it can still be seen.
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
    // The lines between the two that begin and end a block.
    return pemBlocks(pem, 'X509 CRL').map((block) =>
      parseRevocationList(Buffer.from(block.split('\n').slice(1, -1).join(''), 'base64')),
    );
  } catch (cause) {
    throw invalid('crlFile', 'holds a broken revocation list', cause);
  }
}

/** OpenSSL has the last word, for instance on keys that are too short. */
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
