import type { Clock } from '../clock.ts';
import type { ResolvedConfig } from '../config.ts';
import type { RdcpError } from '../errors.ts';
import { createApiKeyVerifier } from './api-keys.ts';
import type { Authenticator } from './authenticator.ts';
import { createAuthenticator } from './authenticators.ts';
import { ensureDevKey } from './dev-key.ts';
import { createJwtVerifier } from './jwt.ts';
import type { JwtIssuer } from './jwt-issuer.ts';
import { fixedKeys, type KeySource } from './key-set.ts';
import { openKeysFile } from './keys-file.ts';

type ApiKeys = ResolvedConfig['security']['apiKeys'];

/** The credentials of a configuration. */
export interface CredentialSettings {
  readonly apiKeys?: ApiKeys;
  readonly jwt?: JwtIssuer | readonly JwtIssuer[] | undefined;
}

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
  { apiKeys, jwt }: CredentialSettings,
  { clock, cwd, report }: AuthenticationOptions,
): ConfiguredAuthentication {
  const development = apiKeys === undefined && jwt === undefined;
  // Tokens first: they may be refused as a configuration, and nothing is open or watched by then.
  const bearer = jwt === undefined ? undefined : createJwtVerifier({ issuers: [jwt].flat(), clock });
  const records = development ? [ensureDevKey(cwd)] : apiKeys;
  const apiKey = records === undefined ? undefined : createApiKeyVerifier({ keys: keySource(records, report), clock });
  const authenticator = createAuthenticator({
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(bearer === undefined ? {} : { bearer }),
  });
  return { authenticator, development };
}

function keySource(apiKeys: NonNullable<ApiKeys>, report: AuthenticationOptions['report']): KeySource {
  return 'file' in apiKeys ? openKeysFile(apiKeys.file, { report }) : fixedKeys(apiKeys);
}
