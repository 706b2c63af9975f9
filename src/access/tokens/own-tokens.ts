import type { ResolvedConfig } from '../../options/config.ts';
import { type Condition, type Conditions, UNWATCHED } from '../../otel/report/conditions.ts';
import { joining } from '../../store/one-at-a-time.ts';
import type { RecordStore } from '../../store/records.ts';
import { TokenRecords } from '../../store/tokens.ts';
import { configurationError, failureCode, unavailable } from '../../wire/errors.ts';
import { type Clock, type Schedule, unrefInterval } from '../../wire/time/clock.ts';
import type { ApiKeyVerifier } from '../api-keys.ts';
import { claimNames, KEY_CLAIM, TENANT_CLAIM } from '../jwt-claims.ts';
import type { TrustedIssuer } from '../jwt-issuer.ts';
import { narrowed, type Principal } from '../principal.ts';
import { refusal } from '../refusal.ts';
import { lineageOf } from './sessions.ts';
import { openSigningKeys } from './signing-keys.ts';

interface OwnTokensOptions {
  readonly store: RecordStore | undefined;
  readonly apiKey: ApiKeyVerifier | undefined;
  readonly certificateRequired: boolean;
  readonly clock: Clock;
  readonly conditions: Pick<Conditions, 'watch'>;
}

/** How long level enterprise accepts tokens while revocations cannot be read from the store. */
const ENTERPRISE_MAX_AGE_MS = 10_000;

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

/** Poll interval: a revocation reaches all processes within a second. */
const POLL_MS = 500;

interface RevocationsOptions {
  readonly store: Pick<TokenRecords, 'revocations'>;
  readonly clock: Clock;
  readonly schedule: Schedule;
  /** Longest age of the list without the store, in milliseconds; then tokens are refused. @default unlimited */
  readonly maxAgeMs?: number;
  readonly condition?: Condition;
}

/** Keeps the revoked sessions of all processes in memory, so that accepting a token costs no I/O. */
export function createRevocations({
  store,
  clock,
  schedule,
  maxAgeMs = Number.POSITIVE_INFINITY,
  condition = UNWATCHED,
}: RevocationsOptions) {
  const revoked = new Map<string, number>();
  let position = 0;
  let readAt: number | undefined;
  let failure: unknown;

  const poll = joining(async () => {
    const startedAt = clock.monotonic();
    try {
      const news = await store.revocations(position, clock.now());
      for (const { sessionId, until } of news.revoked) revoked.set(sessionId, until);
      position = news.position;
      readAt = startedAt;
      condition.end();
    } catch (cause) {
      failure = cause;
      condition.begin(`revoked sessions cannot be read from the store${failureCode(cause)}`);
    }
    const now = clock.now();
    for (const [sessionId, until] of revoked) if (until <= now) revoked.delete(sessionId);
  });

  const isFresh = () => readAt !== undefined && clock.monotonic() - readAt <= maxAgeMs;
  const includes = (sessionId: string) => revoked.size > 0 && lineageOf(sessionId).some((id) => revoked.has(id));

  async function isRevokedAfterRead(sessionId: string): Promise<boolean> {
    await poll();
    if (isFresh()) return includes(sessionId);
    throw unavailable('The token cannot be verified at the moment', failure, 1);
  }

  void poll();
  const stop = schedule(POLL_MS, () => void poll());
  return {
    /** Whether a session, or one it was made from, was revoked. Synchronous once the store was read. @throws {RdcpError} `RDCP_UNAVAILABLE` if that is unknown */
    isRevoked: (sessionId: string): boolean | Promise<boolean> =>
      isFresh() ? includes(sessionId) : isRevokedAfterRead(sessionId),
    add: (sessionId: string, until: number) => void revoked.set(sessionId, until),
    close: stop,
  };
}
