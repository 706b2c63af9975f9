import type { ResolvedConfig } from '../../options/config.ts';
import type { Conditions } from '../../otel/report/conditions.ts';
import type { RecordStore } from '../../store/records.ts';
import { TokenRecords } from '../../store/tokens.ts';
import { configurationError } from '../../wire/errors.ts';
import { type Clock, unrefInterval } from '../../wire/time/clock.ts';
import type { ApiKeyVerifier } from '../api-keys.ts';
import { claimNames, KEY_CLAIM, TENANT_CLAIM } from '../jwt-claims.ts';
import type { TrustedIssuer } from '../jwt-issuer.ts';
import { narrowed, type Principal } from '../principal.ts';
import { refusal } from '../refusal.ts';
import { createRevocations } from './revocations.ts';
import { openSigningKeys } from './signing-keys.ts';

export interface OwnTokensOptions {
  readonly store: RecordStore | undefined;
  readonly apiKey: ApiKeyVerifier | undefined;
  readonly certificateRequired: boolean;
  readonly clock: Clock;
  readonly conditions: Pick<Conditions, 'watch'>;
}

/** How long level enterprise accepts tokens while revocations cannot be read from the store. */
const ENTERPRISE_MAX_AGE_MS = 10_000;

/** State that issuing and verifying tokens of this server share. */
export type OwnTokens = ReturnType<typeof openOwnTokens>;

/** @throws {RdcpError} `RDCP_CONFIG_INVALID` for invalid keys, or a store without token records */
export function openOwnTokens(
  settings: NonNullable<ResolvedConfig['security']['tokens']>,
  { store: records, apiKey, certificateRequired, clock, conditions }: OwnTokensOptions,
) {
  if (records === undefined) {
    throw configurationError('security.tokens', 'needs a store that keeps token records');
  }
  const store = new TokenRecords(records);
  const keys = openSigningKeys(settings, {
    tokenSeconds: settings.accessTokenSeconds,
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
  /** What its API key allows now; `undefined` if the key has ended, is of another user or tenant, or allows nothing of the token. */
  function allowedNow(token: Principal): Principal | undefined {
    if (token.keyId === undefined) return token;
    const key = apiKey?.principal(token.keyId);
    if (key === undefined || key.tenantId !== token.tenantId || key.userId !== token.userId) return undefined;
    return narrowed(token, key);
  }

  return {
    settings,
    store,
    keys,
    revocations,
    clock,
    allowedNow,
    /** This server as an issuer. Its sessions must not be revoked. */
    trusted: {
      issuer: settings.issuer,
      audience: [settings.audience].flat(),
      algorithms: [...keys.algorithms],
      ...claimNames({ scopeClaim: 'scope', tenantClaim: TENANT_CLAIM }),
      keyClaim: KEY_CLAIM,
      key: (header) => keys.verification(header),
      admit: async (principal) => {
        const { sessionId } = principal;
        const allowed = allowedNow(principal);
        if (sessionId === undefined || allowed === undefined) throw refusal('bearer');
        if (await revocations.isRevoked(sessionId)) throw refusal('bearer');
        return allowed;
      },
    } satisfies TrustedIssuer,
    close: () => {
      revocations.close();
      keys.close();
    },
  };
}
