import { constants, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import {
  createSecureContext,
  type SecureContextOptions,
  type Server,
  type TLSSocket,
  type Server as TlsServer,
} from 'node:tls';
import type { ResolvedConfig } from '../../options/config.ts';
import type { Conditions } from '../../otel/report/conditions.ts';
import { configurationError, isRdcpError, RdcpError } from '../../wire/errors.ts';
import { codeOf } from '../../wire/thrown.ts';
import { unmapped } from '../request.ts';

interface TlsOptions {
  readonly production: boolean;
  /** Hold while a file cannot be used, or is out of date. */
  readonly conditions: Pick<Conditions, 'watch'>;
}

/** @throws {RdcpError} `RDCP_CONFIG_INVALID`, one line that names the field, when a file cannot be used */
export async function openTls(config: TlsConfig, { production, conditions }: TlsOptions) {
  const unusable = {
    'server.tls.certFile': conditions.watch('certificate'),
    'server.tls.keyFile': conditions.watch('private_key'),
    'server.tls.clientCaFile': conditions.watch('ca'),
    'server.tls.crlFile': conditions.watch('crl'),
  };
  const certificateDates = conditions.watch('certificate_dates');
  const listDates = conditions.watch('crl_dates');
  let inUse = await readTexts(config);
  let { context, certificate } = readTls(inUse, production);
  /** The last problem of the files; `''` while there is none. */
  let problem = '';

  function failed(error: RdcpError | undefined): void {
    const known = Object.hasOwn(unusable, String(error?.details?.field));
    const failing = known ? error?.details?.field : 'server.tls.certFile';
    for (const [field, condition] of Object.entries(unusable)) {
      if (error !== undefined && field === failing) condition.begin(settingOf(error));
      else condition.end();
    }
  }

  function checkDates(): void {
    if (isValidAt(certificate, Date.now())) certificateDates.end();
    else certificateDates.begin(settingOf(notValidNow(certificate)));
  }

  async function look(server: TlsServer, disconnect: () => void): Promise<void> {
    const texts = await readTexts(config);
    if (problem === '' && TLS_FIELDS.every((field) => texts[field] === inUse[field])) return;
    adopt(texts, server, disconnect);
    problem = '';
    failed(undefined);
  }

  function adopt(texts: TlsTexts, server: TlsServer, disconnect: () => void): void {
    ({ context, certificate } = readTls(texts, production));
    server.setSecureContext(context);
    const sameTrust = texts.clientCaFile === inUse.clientCaFile && texts.crlFile === inUse.crlFile;
    inUse = texts;
    checkDates();
    if (sameTrust) return;
    listDates.end();
    disconnect();
  }

  /** Certificate and key are two writes, so a problem seen only once is an unfinished renewal and not reported. */
  function note(error: RdcpError): void {
    if (error.message === problem) failed(error);
    problem = error.message;
  }

  checkDates();
  return {
    context,

    /**
     * Applies changes of the files to the server.
     * @param disconnect closes every connection, handshakes in progress included: a handshake checks a certificate once, but
     * a connection lives on. Clients that are still trusted connect again
     * @param schedule when the files are read
     * @returns a function that stops this
     */
    follow(server: TlsServer, disconnect: () => void, schedule: (task: () => void) => () => void): () => void {
      const expire = context.ca === undefined ? () => {} : disconnectExpired(server);
      let looking = false;
      return schedule(() => {
        expire(Date.now());
        checkDates();
        if (looking) return;
        looking = true;
        look(server, disconnect)
          .catch((cause: unknown) => {
            const unread = () => new RdcpError('RDCP_SERVER_ERROR', 'server.tls cannot be read again', { cause });
            note(isRdcpError(cause) ? cause : unread());
          })
          .finally(() => {
            looking = false;
          });
      });
    },

    refused({ reason }: HandshakeRefusal): void {
      if (reason !== 'revocation_list_expired') return;
      const over = 'is out of date: every client certificate is refused until there is a newer one';
      listDates.begin(settingOf(invalid('crlFile', over)));
    },
  };
}

/** @returns a function that closes connections whose client certificate has expired at a time */
function disconnectExpired(server: TlsServer): (epochMs: number) => void {
  const open = new Map<TLSSocket, number>();
  server.on('secureConnection', (connection: TLSSocket) => {
    const expiresAt = connection.getPeerX509Certificate()?.validToDate.getTime();
    if (expiresAt === undefined) {
      connection.destroy();
      return;
    }
    open.set(connection, expiresAt);
    connection.once('close', () => open.delete(connection));
  });
  return (epochMs) => {
    for (const [connection, expiresAt] of open) if (expiresAt < epochMs) connection.destroy();
  };
}

function isValidAt({ validFromDate, validToDate }: X509Certificate, now: number): boolean {
  return now >= validFromDate.getTime() && now <= validToDate.getTime();
}

function notValidNow({ validFrom, validTo }: X509Certificate): RdcpError {
  return invalid('certFile', `is valid from ${validFrom} to ${validTo} only: clients refuse it`);
}

/** The message without the prefix that is only for the start. */
function settingOf({ message }: RdcpError): string {
  return message.replace(/^configuration: /, '');
}

type TlsConfig = NonNullable<Exclude<ResolvedConfig['server'], false>['tls']>;
type TlsField = keyof TlsConfig;
const TLS_FIELDS: readonly TlsField[] = ['certFile', 'keyFile', 'clientCaFile', 'crlFile'];

type TlsTexts = { readonly [field in TlsField]?: string };

/** @throws {RdcpError} `RDCP_CONFIG_INVALID` for a file that cannot be read: it names the field, and not the path */
async function readTexts(config: TlsConfig): Promise<TlsTexts> {
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
function readTls(texts: TlsTexts, production: boolean) {
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

/** Why a client certificate was refused: a bounded set, because it becomes a metric attribute. */
type CertificateRefusal =
  | 'certificate_missing'
  | 'certificate_revoked'
  | 'certificate_expired'
  | 'certificate_not_yet_valid'
  | 'certificate_untrusted'
  | 'certificate_wrong_purpose'
  | 'certificate_refused'
  | 'revocation_list_expired';

export interface HandshakeRefusal {
  readonly reason: CertificateRefusal;
  /** The client's address; absent when the connection closed too early. */
  readonly address?: string;
}

/** Reasons by OpenSSL verification error; any other is `certificate_refused`. */
const REASONS: Readonly<Record<string, CertificateRefusal>> = {
  CERT_REVOKED: 'certificate_revoked',
  CERT_HAS_EXPIRED: 'certificate_expired',
  CERT_NOT_YET_VALID: 'certificate_not_yet_valid',
  INVALID_PURPOSE: 'certificate_wrong_purpose',
  CRL_HAS_EXPIRED: 'revocation_list_expired',
  // Every trusted authority has a list, so this authority is not trusted.
  UNABLE_TO_GET_CRL: 'certificate_untrusted',
  UNABLE_TO_GET_ISSUER_CERT: 'certificate_untrusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'certificate_untrusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'certificate_untrusted',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'certificate_untrusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'certificate_untrusted',
  CERT_SIGNATURE_FAILURE: 'certificate_untrusted',
  CERT_UNTRUSTED: 'certificate_untrusted',
  CERT_REJECTED: 'certificate_untrusted',
  INVALID_CA: 'certificate_untrusted',
};

/** Calls `refused` for every handshake that failed because of the client's certificate. */
export function watchHandshakes(server: Server, refused: (refusal: HandshakeRefusal) => void): void {
  // Reading the address once makes Node remember it; after the connection closed, it would be lost.
  server.on('connection', ({ remoteAddress: _ }: Socket) => {});
  server.on('tlsClientError', (error: NodeJS.ErrnoException, socket: TLSSocket) => {
    const reason = reasonOf(error, socket);
    if (reason === undefined) return;
    const address = addressOf(socket);
    refused({ reason, ...(address !== undefined && { address: unmapped(address) }) });
  });
}

/**
 * `undefined` for handshakes that failed for other reasons, such as a port scanner, plain HTTP or an old TLS version.
 * Node destroys the socket of a refused certificate with ECONNRESET: the verification error is on the socket, but the
 * certificate is gone.
 */
function reasonOf({ code }: NodeJS.ErrnoException, socket: TLSSocket): CertificateRefusal | undefined {
  if (code === 'ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE') return 'certificate_missing';
  // An OpenSSL code, although the type says Error.
  const verification: unknown = socket.authorizationError;
  return typeof verification === 'string' ? (REASONS[verification] ?? 'certificate_refused') : undefined;
}

/** A destroyed TLS socket has lost its address, but the connection below it has not. */
function addressOf(socket: TLSSocket): string | undefined {
  const connection = Reflect.get(socket, '_parent') as Socket | null | undefined;
  return socket.remoteAddress ?? connection?.remoteAddress;
}
