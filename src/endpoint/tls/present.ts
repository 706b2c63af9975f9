import { accessSync, constants } from 'node:fs';
import type { ServerConfig } from '../../options/config.ts';
import { configurationError } from '../../wire/errors.ts';
import { isLoopback } from '../../wire/net/hosts.ts';
import { codeOf } from '../../wire/thrown.ts';

/** @throws {RdcpError} `RDCP_CONFIG_INVALID` for plain HTTP on an address that is not loopback */
export function assertServable({ host, tls, behindTlsProxy }: ServerConfig): void {
  if (tls !== undefined || behindTlsProxy || isLoopback(host)) return;
  throw configurationError(
    'server.host',
    `${host} is not a loopback address: plain HTTP needs 127.0.0.1, ::1 or localhost; set server.tls, or server.behindTlsProxy where TLS ends before this process`,
  );
}

/**
 * A missing file stops the start, as any invalid value does. The content is checked when the listener reads it, after
 * the application's own start.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID`, one line that names the field
 */
export function assertTlsFiles({ tls }: Pick<ServerConfig, 'tls'>): void {
  for (const [name, file] of Object.entries(tls ?? {})) {
    if (file === undefined) continue;
    try {
      accessSync(file, constants.R_OK);
    } catch (cause) {
      const code = codeOf(cause) ?? 'unknown error';
      throw configurationError(`server.tls.${name}`, `cannot be read (${code})`, cause);
    }
  }
}
