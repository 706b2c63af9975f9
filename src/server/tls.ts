import type { SecureContextOptions, TLSSocket, Server as TlsServer } from 'node:tls';
import type { Schedule } from '../clock.ts';
import type { Conditions } from '../conditions.ts';
import type { RdcpError } from '../errors.ts';
import { createClientConnections } from './tls-clients.ts';
import { readTls, type TlsConfig, type TlsTexts } from './tls-files.ts';
import { readTlsFiles, watchTlsFiles } from './tls-reload.ts';

export interface TlsOptions {
  readonly production: boolean;
  /** Hold while a file cannot be used, or is out of date. */
  readonly conditions: Pick<Conditions, 'watch'>;
}

export interface TlsTiming {
  readonly schedule: Schedule;
  /** Poll interval in milliseconds. */
  readonly intervalMs: number;
  /** How long a handshake may take, in milliseconds. */
  readonly handshakeMs: number;
  /** A monotonic clock, in milliseconds. */
  readonly now: () => number;
}

export interface OpenTls {
  readonly context: SecureContextOptions;
  /**
   * Applies file changes to the server, and closes connections whose certificate is no longer trusted.
   * @returns a function that stops this
   */
  follow(server: TlsServer, timing: TlsTiming): () => void;
}

/** @throws {RdcpError} `RDCP_CONFIG_INVALID`, one line that names the field, when a file cannot be used */
export function openTls(config: TlsConfig, { production, conditions }: TlsOptions): OpenTls {
  const unusable = {
    'server.tls.certFile': conditions.watch('certificate'),
    'server.tls.keyFile': conditions.watch('private_key'),
    'server.tls.clientCaFile': conditions.watch('ca'),
    'server.tls.crlFile': conditions.watch('crl'),
  };
  const dates = { certFile: conditions.watch('certificate_dates'), crlFile: conditions.watch('crl_dates') };
  const texts = readTlsFiles(config);
  const { context, clients, ...first } = readTls(texts, { production });
  let { outOfDate } = first;

  function failed(error: RdcpError | undefined): void {
    const known = Object.hasOwn(unusable, String(error?.details?.field));
    const failing = known ? error?.details?.field : 'server.tls.certFile';
    for (const [field, condition] of Object.entries(unusable)) {
      if (error !== undefined && field === failing) condition.begin(settingOf(error));
      else condition.end();
    }
  }

  function checkDates(): void {
    const now = Date.now();
    const problems = outOfDate(now);
    for (const field of ['certFile', 'crlFile'] as const) {
      const problem = problems[field];
      if (problem === undefined) dates[field].end();
      else dates[field].begin(settingOf(problem));
    }
  }

  checkDates();
  return {
    context,
    follow: (server, { schedule, intervalMs, handshakeMs, now }) => {
      const connections = clients && createClientConnections(handshakeMs, now);
      let inUse = texts;
      if (connections !== undefined) server.on('secureConnection', (socket: TLSSocket) => connections.opened(socket));
      const adopt = (changed: TlsTexts) => {
        const renewed = readTls(changed, { production });
        server.setSecureContext(renewed.context);
        const sameTrust = changed.clientCaFile === inUse.clientCaFile && changed.crlFile === inUse.crlFile;
        if (renewed.clients !== undefined && !sameTrust) connections?.trust(renewed.clients);
        outOfDate = renewed.outOfDate;
        inUse = changed;
        checkDates();
      };
      const endings = [
        watchTlsFiles(config, texts, { adopt, failed, recovered: () => failed(undefined), schedule, intervalMs }),
        schedule(intervalMs, () => {
          connections?.expire(Date.now());
          checkDates();
        }),
      ];
      return () => {
        for (const end of endings) end();
      };
    },
  };
}

/** The message without the prefix that is only for the start. */
function settingOf({ message }: RdcpError): string {
  return message.replace(/^configuration: /, '');
}
