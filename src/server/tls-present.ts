import { accessSync, constants } from 'node:fs';
import { configurationError } from '../errors.ts';
import type { ServerConfig } from './listener.ts';

/**
 * A file that is missing stops the start like any other wrong value. What the files hold is checked when the listener
 * reads them, which is after the application's own start.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID`, one line that names the field
 */
export function assertTlsFiles({ tls }: Pick<ServerConfig, 'tls'>): void {
  for (const [name, file] of Object.entries(tls ?? {})) {
    if (file === undefined) continue;
    try {
      accessSync(file, constants.R_OK);
    } catch (cause) {
      const code = cause instanceof Error && 'code' in cause ? cause.code : 'unknown error';
      throw configurationError(`server.tls.${name}`, `cannot be read (${code})`, cause);
    }
  }
}
