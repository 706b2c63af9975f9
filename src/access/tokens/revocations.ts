import { type Condition, UNWATCHED } from '../../otel/report/conditions.ts';
import type { TokenRecords } from '../../store/tokens.ts';
import { failureCode, unavailable } from '../../wire/errors.ts';
import type { Clock, Schedule } from '../../wire/time/clock.ts';
import { lineageOf } from './sessions.ts';

/** Poll interval: a revocation reaches all processes within a second. */
const POLL_MS = 500;

export interface RevocationsOptions {
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
  let reading: Promise<void> | undefined;
  let failure: unknown;

  async function read(): Promise<void> {
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
  }

  function poll(): Promise<void> {
    reading ??= read().finally(() => {
      reading = undefined;
    });
    return reading;
  }

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
