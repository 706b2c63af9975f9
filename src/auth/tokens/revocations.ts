import type { Clock, Schedule } from '../../clock.ts';
import { type Condition, UNWATCHED } from '../../conditions.ts';
import { failureCode, RdcpError } from '../../errors.ts';
import type { TokenStore } from '../../store/token-store.ts';
import { lineageOf } from './session.ts';

/** How often the store is asked: what is revoked in one process ends in all of them within a second. */
const POLL_MS = 500;

export interface RevocationsOptions {
  readonly store: Pick<TokenStore, 'revocations'>;
  readonly clock: Clock;
  readonly schedule: Schedule;
  /**
   * How old the list may grow while the store does not answer, in milliseconds; then no token is accepted.
   * @default unlimited: what is known stays in force
   */
  readonly maxAgeMs?: number;
  /** Holds while the store does not answer. */
  readonly condition?: Condition;
}

/** Sessions whose access tokens are no longer accepted, in any process. */
export interface Revocations {
  /**
   * Whether a session, or one that it was made from, was revoked. Answers at once, but for the time until the store has
   * been read first.
   * @throws {RdcpError} `RDCP_UNAVAILABLE` when that is not known
   */
  isRevoked(sessionId: string): boolean | Promise<boolean>;
  /** Takes over a revocation that this process has just made. */
  add(sessionId: string, until: number): void;
  close(): void;
}

/** Keeps the revocations in memory, so that accepting a token costs no I/O. */
export function createRevocations({
  store,
  clock,
  schedule,
  maxAgeMs = Number.POSITIVE_INFINITY,
  condition = UNWATCHED,
}: RevocationsOptions): Revocations {
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

  function look(): Promise<void> {
    reading ??= read().finally(() => {
      reading = undefined;
    });
    return reading;
  }

  const isFresh = () => readAt !== undefined && clock.monotonic() - readAt <= maxAgeMs;
  const holds = (sessionId: string) => revoked.size > 0 && lineageOf(sessionId).some((id) => revoked.has(id));

  async function lookFirst(sessionId: string): Promise<boolean> {
    await look();
    if (isFresh()) return holds(sessionId);
    throw new RdcpError('RDCP_UNAVAILABLE', 'The token cannot be checked at the moment', {
      headers: { 'Retry-After': '1' },
      cause: failure,
    });
  }

  void look();
  const stop = schedule(POLL_MS, () => void look());
  return {
    isRevoked: (sessionId) => (isFresh() ? holds(sessionId) : lookFirst(sessionId)),
    add: (sessionId, until) => void revoked.set(sessionId, until),
    close: stop,
  };
}
