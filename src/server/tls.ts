import type { SecureContextOptions, TLSSocket, Server as TlsServer } from 'node:tls';
import type { Schedule } from '../clock.ts';
import { createClientConnections } from './tls-clients.ts';
import { readTls, type TlsConfig, type TlsTexts } from './tls-files.ts';
import { readTlsFiles, watchTlsFiles } from './tls-reload.ts';

export interface TlsOptions {
  readonly production: boolean;
  readonly report: (error: unknown) => void;
}

export interface TlsTiming {
  readonly schedule: Schedule;
  /** Milliseconds between two looks at the files. */
  readonly intervalMs: number;
  /** How long a handshake may take, milliseconds. */
  readonly handshakeMs: number;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
}

export interface OpenTls {
  readonly context: SecureContextOptions;
  /**
   * Keeps the server on the files as they change, and its connections on what the newest say of their certificates.
   * @returns the way to stop
   */
  follow(server: TlsServer, timing: TlsTiming): () => void;
}

/** @throws {RdcpError} `RDCP_CONFIG_INVALID`, one line that names the field, when a file cannot be used */
export function openTls(config: TlsConfig, { production, report }: TlsOptions): OpenTls {
  const read = (texts: TlsTexts) => {
    const settings = readTls(texts, { now: Date.now(), production });
    for (const warning of settings.warnings) report(warning);
    return settings;
  };
  const texts = readTlsFiles(config);
  const { context, clients } = read(texts);
  return {
    context,
    follow: (server, { schedule, intervalMs, handshakeMs, now }) => {
      const connections = clients && createClientConnections(handshakeMs, now);
      let inUse = texts;
      if (connections !== undefined) server.on('secureConnection', (socket: TLSSocket) => connections.opened(socket));
      const adopt = (changed: TlsTexts) => {
        const renewed = read(changed);
        server.setSecureContext(renewed.context);
        const sameTrust = changed.clientCaFile === inUse.clientCaFile && changed.crlFile === inUse.crlFile;
        if (renewed.clients !== undefined && !sameTrust) connections?.trust(renewed.clients);
        inUse = changed;
      };
      const endings = [
        watchTlsFiles(config, texts, { adopt, report, schedule, intervalMs }),
        schedule(intervalMs, () => connections?.expire(Date.now())),
      ];
      return () => {
        for (const end of endings) end();
      };
    },
  };
}
