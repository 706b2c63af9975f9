import { unavailable } from '../errors.ts';
import { type Condition, UNWATCHED } from '../report/conditions.ts';
import type { Clock, Delay } from '../time/clock.ts';
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

/** Consecutive failures after which a breaker opens. */
const FAILURES_TO_OPEN = 3;
/** Pause between requests while a breaker is open. Tokens that were active are independent of made-up ones. */
const PAUSE_MS = { unknown: 5000, known: 1000 };
/** Consecutive refusals, before the first success, after which a probe checks our own credentials. */
const REFUSALS_TO_PROBE = 3;
/** Interval of probes during an outage. */
const PROBE_MS = 30_000;
/** A token for probes that no issuer has issued. */
const PROBE_TOKEN = 'rdcp-health-check';

/**
 * Introspects tokens at an issuer, with circuit breakers.
 *
 * A refused token is inactive. If the status could also mean that the issuer rejects this server's own credentials, it is
 * treated so until they were accepted once, and again after a known token is refused.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` for an endpoint that is not https
 */
export function createIntrospectionClient(
  endpoint: IntrospectionEndpoint,
  { clock, fetch = globalThis.fetch, delay = () => () => undefined, condition = UNWATCHED }: IntrospectionSurroundings,
) {
  const request = introspectionRequest(endpoint, fetch);
  const breakers = { unknown: createBreaker(clock, PAUSE_MS.unknown), known: createBreaker(clock, PAUSE_MS.known) };
  /** Whether the issuer accepts our own credentials. Only a valid response ends a suspicion. */
  let credentials: 'untested' | 'accepted' | 'suspected' = 'untested';
  let refusals = 0;
  let lastFailure: unknown;
  let closed = false;
  let cancelProbe = () => {};

  const notVerified = (waitMs = 0) =>
    unavailable('The token cannot be verified at the moment', lastFailure, Math.max(1, Math.ceil(waitMs / 1000)));

  /** Records that the issuer responds, even if it may reject our credentials. */
  function responded(): void {
    breakers.unknown.succeeded();
    breakers.known.succeeded();
    if (credentials === 'suspected') return;
    cancelProbe();
    condition.end();
  }

  function succeeded(): void {
    credentials = 'accepted';
    refusals = 0;
    responded();
  }

  function outage(cause: unknown): void {
    lastFailure = cause;
    condition.begin(`security.introspection.endpoint ${issuerProblem(cause)}`);
    cancelProbe();
    if (!closed) cancelProbe = delay(PROBE_MS, probe);
  }

  /** Suspects our credentials. Requests continue, because a valid token would clear the suspicion. */
  function suspect(fault: StatusFault): void {
    credentials = 'suspected';
    outage(fault);
  }

  function probe(): void {
    void request(PROBE_TOKEN).then((reply) => {
      const mayRejectUs = credentials === 'untested' && refusals >= REFUSALS_TO_PROBE;
      if (!(reply instanceof StatusFault)) succeeded();
      else if (credentials === 'suspected' || mayRejectUs || (credentials === 'untested' && reply.refuses === 'either'))
        suspect(reply);
      else responded();
    }, outage);
  }

  /** @throws {RdcpError} `RDCP_UNAVAILABLE` if the issuer may be rejecting our credentials */
  function refused(fault: StatusFault, known: boolean): Answer {
    if (fault.refuses === 'either' && (known || credentials !== 'accepted')) {
      suspect(fault);
      throw notVerified();
    }
    responded();
    refusals += 1;
    if (credentials === 'untested' && refusals === REFUSALS_TO_PROBE) probe();
    return { active: false };
  }

  return {
    notVerified,

    /**
     * Resolves with the issuer's response.
     * @param known whether the token was active at its last introspection
     * @throws {RdcpError} `RDCP_UNAVAILABLE` without a response
     */
    async ask(token: string, known: boolean): Promise<Answer> {
      const breaker = known ? breakers.known : breakers.unknown;
      if (!breaker.admits()) throw notVerified(breaker.waitMs());
      const reply = await request(token).catch((cause: unknown) => {
        breaker.failed();
        outage(cause);
        throw notVerified(breaker.waitMs());
      });
      if (reply instanceof StatusFault) return refused(reply, known);
      succeeded();
      return reply;
    },

    close(): void {
      closed = true;
      cancelProbe();
    },
  };
}

/** A circuit breaker: after repeated failures it admits one request per pause. */
function createBreaker(clock: Clock, pauseMs: number) {
  let failures = 0;
  let pausedUntil = Number.NEGATIVE_INFINITY;
  const waitMs = () => pausedUntil - clock.monotonic();
  const pauseIfOpen = () => {
    if (failures >= FAILURES_TO_OPEN) pausedUntil = clock.monotonic() + pauseMs;
  };
  return {
    waitMs,
    admits(): boolean {
      if (waitMs() > 0) return false;
      pauseIfOpen();
      return true;
    },
    failed(): void {
      failures += 1;
      pauseIfOpen();
    },
    succeeded(): void {
      failures = 0;
      pausedUntil = Number.NEGATIVE_INFINITY;
    },
  };
}
