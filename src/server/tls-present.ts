import { accessSync, constants } from 'node:fs';
import { configurationError } from '../errors.ts';
import type { ServerConfig } from './listener.ts';

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
      const code = cause instanceof Error && 'code' in cause ? cause.code : 'unknown error';
      throw configurationError(`server.tls.${name}`, `cannot be read (${code})`, cause);
    }
  }
}
