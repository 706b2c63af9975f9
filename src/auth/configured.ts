import type { Clock } from '../clock.ts';
import type { ResolvedConfig } from '../config.ts';
import type { RdcpError } from '../errors.ts';
import { createApiKeyVerifier } from './api-keys.ts';
import type { Authenticator } from './authenticator.ts';
import { createAuthenticator } from './authenticators.ts';
import { ensureDevKey } from './dev-key.ts';
import { fixedKeys, type KeySource } from './key-set.ts';
import { openKeysFile } from './keys-file.ts';

export interface AuthenticationOptions {
  readonly clock: Clock;
  /** Where a development key is kept when no credential is configured. */
  readonly cwd: string;
  /** Told when a keys file can no longer be read; the last good keys stay in force. */
  readonly report: (error: RdcpError) => void;
}

export interface ConfiguredAuthentication {
  readonly authenticator: Authenticator;
  /** True when the only credential is the development key: such a server is for loopback alone. */
  readonly development: boolean;
}

/**
 * The authenticator that a configuration asks for.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` when a keys file is wrong, or the development key cannot be kept
 */
export function openAuthentication(
  { apiKeys }: ResolvedConfig['security'],
  { clock, cwd, report }: AuthenticationOptions,
): ConfiguredAuthentication {
  const keys = keySource(apiKeys ?? [ensureDevKey(cwd)], report);
  const apiKey = createApiKeyVerifier({ keys, clock });
  return { authenticator: createAuthenticator({ apiKey }), development: apiKeys === undefined };
}

function keySource(
  apiKeys: NonNullable<ResolvedConfig['security']['apiKeys']>,
  report: AuthenticationOptions['report'],
): KeySource {
  return 'file' in apiKeys ? openKeysFile(apiKeys.file, { report }) : fixedKeys(apiKeys);
}
