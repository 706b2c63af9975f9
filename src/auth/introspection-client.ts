import type { Clock, Delay } from '../clock.ts';
import { type Condition, UNWATCHED } from '../conditions.ts';
import { RdcpError } from '../errors.ts';
import { type Answer, type IntrospectionEndpoint, introspectionRequest, StatusFault } from './introspection-request.ts';
import { issuerProblem } from './issuer-failure.ts';

export interface IntrospectionSurroundings {
  readonly clock: Clock;
  /** @default the global `fetch` */
  readonly fetch?: typeof globalThis.fetch;
  /** For retries after a failure. @default retried only with the next token */
  readonly delay?: Delay;
  /** Holds while the issuer does not respond correctly. */
  readonly condition?: Condition;
}

/** Maximum number of concurrent requests for unknown tokens. Made-up tokens must not flood the issuer. */
export const MAX_IN_FLIGHT = 32;
/** Consecutive failures after which the circuit breaker opens. */
const FAILURES_TO_OPEN = 3;
/** Pause before the next attempt while it is open. */
const COOLDOWN_MS = 5000;
/** Pause between attempts with known tokens, which are independent of those with made-up tokens. */
const KNOWN_COOLDOWN_MS = 1000;
/** Consecutive refusals, before the first success, after which a probe checks our own credentials. */
const REFUSALS_TO_PROBE = 3;
/** Interval of probes during an outage. */
const PROBE_MS = 30_000;
/** A token for probes that no issuer has issued. */
const PROBE_TOKEN = 'rdcp-health-check';

const INACTIVE: Answer = { active: false };

/**
 * Introspects tokens at an issuer, with a circuit breaker: while it is open, one request per pause tests the issuer and all
 * others fail at once.
 *
 * A refused token is inactive. If the status could also mean that the issuer rejects this server's own credentials, it is
 * treated so until they were accepted once, and again after a known token is refused.
 * @returns `ask` resolves with the issuer's response and rejects with `RDCP_UNAVAILABLE` without one
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` for an endpoint that is not https
 */
export function createIntrospectionClient({
  clock,
  fetch = globalThis.fetch,
  delay = () => () => undefined,
  condition = UNWATCHED,
  ...endpoint
}: IntrospectionEndpoint & IntrospectionSurroundings) {
  const request = introspectionRequest(endpoint, fetch);
  let inFlight = 0;
  let failures = 0;
  let lastFailure: unknown;
  /** Whether the issuer has accepted our credentials at least once. */
  let accepted = false;
  /** Whether the issuer may be rejecting our credentials. Only a valid response clears it. */
  let suspected = false;
  let refusals = 0;
  let closed = false;
  let cancelProbe = () => {};
  /** On the monotonic clock: no request before this time. */
  let pausedUntil = Number.NEGATIVE_INFINITY;
  let knownPausedUntil = Number.NEGATIVE_INFINITY;

  const unavailable = (seconds: number) =>
    new RdcpError('RDCP_UNAVAILABLE', 'The token cannot be verified at the moment', {
      headers: { 'Retry-After': String(Math.max(1, Math.ceil(seconds))) },
      cause: lastFailure,
    });

  /** Records that the issuer responds, even if it may reject our credentials. */
  function responded(): void {
    failures = 0;
    pausedUntil = Number.NEGATIVE_INFINITY;
    if (suspected) return;
    cancelProbe();
    condition.end();
  }

  function succeeded(): void {
    accepted = true;
    suspected = false;
    refusals = 0;
    responded();
  }

  function begin(cause: unknown): void {
    lastFailure = cause;
    condition.begin(`security.introspection.endpoint ${issuerProblem(cause)}`);
    cancelProbe();
    if (!closed) cancelProbe = delay(PROBE_MS, probe);
  }

  function failed(cause: unknown): void {
    failures += 1;
    if (failures >= FAILURES_TO_OPEN) pausedUntil = clock.monotonic() + COOLDOWN_MS;
    begin(cause);
  }

  /** Suspects our credentials. Requests continue, because a valid token would clear the suspicion. */
  function suspect(fault: StatusFault): void {
    suspected = true;
    begin(fault);
  }

  function probe(): void {
    void request(PROBE_TOKEN).then((reply) => {
      if (!(reply instanceof StatusFault)) succeeded();
      else if (suspected || (!accepted && (reply.refuses === 'either' || refusals >= REFUSALS_TO_PROBE)))
        suspect(reply);
      else responded();
    }, failed);
  }

  /** @throws {RdcpError} `RDCP_UNAVAILABLE` if the issuer may be rejecting our credentials */
  function refused(fault: StatusFault, known: boolean): Answer {
    if (fault.refuses === 'either' && (known || suspected || !accepted)) {
      suspect(fault);
      throw unavailable(1);
    }
    responded();
    refusals += 1;
    if (!accepted && refusals === REFUSALS_TO_PROBE) probe();
    return INACTIVE;
  }

  /** @throws {RdcpError} `RDCP_UNAVAILABLE` if no request may be sent now */
  function assertMayAsk(known: boolean): void {
    const now = clock.monotonic();
    const from = known ? Math.min(pausedUntil, knownPausedUntil) : pausedUntil;
    if (now < from) throw unavailable((from - now) / 1000);
    if (!known && inFlight >= MAX_IN_FLIGHT) throw unavailable(1);
    if (failures < FAILURES_TO_OPEN) return;
    // After a pause only this request tests the issuer.
    if (now >= pausedUntil) pausedUntil = now + COOLDOWN_MS;
    if (known) knownPausedUntil = now + KNOWN_COOLDOWN_MS;
  }

  return {
    unavailable,

    /** @param known whether the token was active at its last introspection */
    async ask(token: string, known = false): Promise<Answer> {
      assertMayAsk(known);
      if (!known) inFlight += 1;
      try {
        const reply = await request(token).catch((cause: unknown) => {
          failed(cause);
          throw unavailable((pausedUntil - clock.monotonic()) / 1000);
        });
        if (reply instanceof StatusFault) return refused(reply, known);
        succeeded();
        return reply;
      } finally {
        if (!known) inFlight -= 1;
      }
    },

    close() {
      closed = true;
      cancelProbe();
    },
  };
}
