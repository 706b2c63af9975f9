import { randomBytes } from 'node:crypto';
import { type Clock, unrefInterval } from '../../clock.ts';
import type { Conditions } from '../../conditions.ts';
import type { ResolvedConfig } from '../../config.ts';
import { RdcpError } from '../../errors.ts';
import type { TokenStore } from '../../store/token-store.ts';
import type { ApiKeyVerifier } from '../api-keys.ts';
import { ownIssuer } from './access-token.ts';
import { createRevocations } from './revocations.ts';
import { openSigningKeys } from './signing-keys.ts';

export interface OwnTokensOptions {
  readonly store: TokenStore | undefined;
  readonly apiKey: ApiKeyVerifier | undefined;
  readonly certificateRequired: boolean;
  readonly clock: Clock;
  readonly conditions: Pick<Conditions, 'watch'>;
}

/** How long level enterprise accepts tokens while revocations cannot be read from the store. */
const ENTERPRISE_MAX_AGE_MS = 10_000;

/**
 * Opens what issuing and verifying tokens share: keys and revocations.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` for invalid keys, or a store without token records
 */
export function openOwnTokens(
  settings: NonNullable<ResolvedConfig['security']['tokens']>,
  { store, apiKey, certificateRequired, clock, conditions }: OwnTokensOptions,
) {
  const { issuer, audience, accessTokenSeconds, refreshTokenSeconds } = settings;
  if (store === undefined) {
    throw new RdcpError(
      'RDCP_CONFIG_INVALID',
      'configuration: security.tokens needs a store that keeps token records',
      {
        details: { field: 'security.tokens' },
      },
    );
  }
  const keys = openSigningKeys(settings, {
    tokenSeconds: accessTokenSeconds,
    clock,
    condition: conditions.watch('signing_keys'),
  });
  const revocations = createRevocations({
    store,
    clock,
    schedule: unrefInterval,
    condition: conditions.watch('revocations'),
    ...(certificateRequired && { maxAgeMs: ENTERPRISE_MAX_AGE_MS }),
  });
  const keyOf = (keyId: string) => apiKey?.principal(keyId);
  return {
    trusted: ownIssuer({ issuer, audience, keys, revocations, keyOf }),
    issuing: {
      issuer: { issuer, audience, keys },
      accessTokenSeconds,
      refreshTokenSeconds,
      store,
      revocations,
      clock,
      randomBytes,
    },
    close: () => {
      revocations.close();
      keys.close();
    },
  };
}
