import type { X509Certificate } from 'node:crypto';
import type { TLSSocket, Server as TlsServer } from 'node:tls';
import type { Conditions } from '../../otel/report/conditions.ts';
import { isRdcpError, RdcpError } from '../../wire/errors.ts';
import { invalid, readTexts, readTls, TLS_FIELDS, type TlsConfig, type TlsTexts } from './files.ts';
import type { HandshakeRefusal } from './refusals.ts';

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

    /** Notes why OpenSSL refused a client. */
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
