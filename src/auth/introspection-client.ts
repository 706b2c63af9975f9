import type { Clock, Delay } from '../clock.ts';
import { type Condition, UNWATCHED } from '../conditions.ts';
import { RdcpError } from '../errors.ts';
import { type Answer, type IntrospectionEndpoint, introspectionRequest, StatusFault } from './introspection-request.ts';
import { issuerProblem } from './issuer-failure.ts';

export interface IntrospectionSurroundings {
  readonly clock: Clock;
  /** @default the global `fetch` */
  readonly fetch?: typeof globalThis.fetch;
  /** For asking an issuer again that did not answer. @default never, but for the next token */
  readonly delay?: Delay;
  /** Holds while the issuer does not answer as it should. */
  readonly condition?: Condition;
}

/** Tokens that anybody makes up must not become a flood of requests to the issuer. Those that were active do not count. */
export const MAX_IN_FLIGHT = 32;
/** Failures in a row after which the issuer counts as down. */
const FAILURES_TO_OPEN = 3;
/** Pause before the next attempt then. */
const COOLDOWN_MS = 5000;
/** Pause between two attempts with a token that was active, which made-up tokens do not keep from being asked about. */
const KNOWN_COOLDOWN_MS = 1000;
/** Refused tokens in a row, and none accepted ever, after which the issuer is asked whether it knows us. */
const REFUSALS_TO_PROBE = 3;
/** Pause between two attempts to find out, without a request, whether an outage is over. */
const PROBE_MS = 30_000;
/** A token that no issuer has given out, for those attempts. */
const PROBE_TOKEN = 'rdcp-health-check';

const INACTIVE: Answer = { active: false };

/**
 * Asks an issuer about tokens. Once it counts as down, one request after each pause finds out whether it is back, and all
 * others are answered at once.
 *
 * A token that the issuer refuses with a status is not active, and says nothing of the issuer. Where the status may as well
 * be about this server's own credentials, it is taken so until they have been accepted once, and again from the moment
 * that a token is refused that was active before.
 * @returns `ask` resolves with the answer, whatever it says of the token, and rejects with `RDCP_UNAVAILABLE` when there is none
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
  /** The issuer has answered a request of ours as RFC 7662 has it. */
  let accepted = false;
  /** Our own credentials may be what it refuses; only an answer can take that back. */
  let suspected = false;
  let refusals = 0;
  let closed = false;
  let cancelProbe = () => {};
  /** On the monotonic clock: nobody is asked before. */
  let pausedUntil = Number.NEGATIVE_INFINITY;
  let knownPausedUntil = Number.NEGATIVE_INFINITY;

  const unavailable = (seconds: number) =>
    new RdcpError('RDCP_UNAVAILABLE', 'The token cannot be checked at the moment', {
      headers: { 'Retry-After': String(Math.max(1, Math.ceil(seconds))) },
      cause: lastFailure,
    });

  /** It answers. Whether it takes our credentials is another matter. */
  function alive(): void {
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
    alive();
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

  /** Others are asked about nevertheless: a token that the issuer knows may be among them. */
  function suspect(fault: StatusFault): void {
    suspected = true;
    begin(fault);
  }

  function probe(): void {
    void request(PROBE_TOKEN).then((reply) => {
      if (!(reply instanceof StatusFault)) succeeded();
      else if (suspected || (!accepted && (reply.refuses === 'either' || refusals >= REFUSALS_TO_PROBE)))
        suspect(reply);
      else alive();
    }, failed);
  }

  /** @throws {RdcpError} `RDCP_UNAVAILABLE` where it may be us whom the issuer refuses */
  function refused(fault: StatusFault, known: boolean): Answer {
    if (fault.refuses === 'either' && (known || suspected || !accepted)) {
      suspect(fault);
      throw unavailable(1);
    }
    alive();
    refusals += 1;
    if (!accepted && refusals === REFUSALS_TO_PROBE) probe();
    return INACTIVE;
  }

  /** @throws {RdcpError} `RDCP_UNAVAILABLE` where it is not asked now */
  function assertAsked(known: boolean): void {
    const now = clock.monotonic();
    const from = known ? Math.min(pausedUntil, knownPausedUntil) : pausedUntil;
    if (now < from) throw unavailable((from - now) / 1000);
    if (!known && inFlight >= MAX_IN_FLIGHT) throw unavailable(1);
    if (failures < FAILURES_TO_OPEN) return;
    // Of many that come after a pause, this one finds out.
    if (now >= pausedUntil) pausedUntil = now + COOLDOWN_MS;
    if (known) knownPausedUntil = now + KNOWN_COOLDOWN_MS;
  }

  return {
    unavailable,

    /** @param known whether the token was active when it was last asked about */
    async ask(token: string, known = false): Promise<Answer> {
      assertAsked(known);
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
