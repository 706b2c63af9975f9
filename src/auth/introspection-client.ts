import type { Clock, Delay } from '../clock.ts';
import { type Condition, UNWATCHED } from '../conditions.ts';
import { RdcpError } from '../errors.ts';
import { readBounded } from './bounded-body.ts';
import { IssuerFault, issuerProblem } from './issuer-failure.ts';
import { trustedUri } from './jwt-issuer.ts';

export interface IntrospectionClientOptions {
  /** The issuer's introspection endpoint. Plain HTTP is accepted on loopback alone. */
  readonly endpoint: string;
  /** This server's name at the issuer. */
  readonly clientId: string;
  /** Sent by HTTP Basic (RFC 6749, section 2.3.1). Without it the client id alone is sent, in the body. */
  readonly clientSecret?: string | undefined;
}

export interface IntrospectionSurroundings {
  readonly clock: Clock;
  /** @default the global `fetch` */
  readonly fetch?: typeof globalThis.fetch;
  /** For asking an issuer again that did not answer. @default never, but for the next token */
  readonly delay?: Delay;
  /** Holds while the issuer does not answer as it should. */
  readonly condition?: Condition;
}

type Answer = Readonly<Record<string, unknown>>;

const TIMEOUT_MS = 3000;
const MAX_BYTES = 64 * 1024;
/** Tokens that anybody makes up must not become a flood of requests to the issuer. */
const MAX_IN_FLIGHT = 32;
/** Failures in a row after which the issuer counts as down. */
const FAILURES_TO_OPEN = 3;
/** Pause before the next attempt then. */
const COOLDOWN_MS = 5000;
/** Pause between two attempts to find out, without a request, whether an outage is over. */
const PROBE_MS = 30_000;
/** A token that no issuer has given out, for those attempts. */
const PROBE_TOKEN = 'rdcp-health-check';
/** The one status that a token may be the reason of, and not the issuer or how this server is known to it. */
const BAD_REQUEST = 400;

/**
 * Asks an issuer about tokens (RFC 7662, section 2). Once it counts as down, one request after each pause finds out whether it
 * is back, and all others are answered at once.
 * @returns `ask` resolves with the answer, whatever it says of the token, and rejects with `RDCP_UNAVAILABLE` when there is none
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` for an endpoint that is not https
 */
export function createIntrospectionClient({
  endpoint,
  clientId,
  clientSecret,
  clock,
  fetch = globalThis.fetch,
  delay = () => () => undefined,
  condition = UNWATCHED,
}: IntrospectionClientOptions & IntrospectionSurroundings) {
  const uri = trustedUri(endpoint, 'security.introspection.endpoint');
  const headers = {
    Accept: 'application/json',
    'Content-Type': 'application/x-www-form-urlencoded',
    ...(clientSecret !== undefined && { Authorization: basic(clientId, clientSecret) }),
  };
  let inFlight = 0;
  let failures = 0;
  let lastFailure: unknown;
  let closed = false;
  let cancelProbe = () => {};
  /** On the monotonic clock: nobody is asked before. */
  let pausedUntil = Number.NEGATIVE_INFINITY;

  const unavailable = (seconds: number) =>
    new RdcpError('RDCP_UNAVAILABLE', 'The token cannot be checked at the moment', {
      headers: { 'Retry-After': String(Math.max(1, Math.ceil(seconds))) },
      cause: lastFailure,
    });

  const request = async (token: string): Promise<Answer> => {
    const response = await fetch(uri, {
      method: 'POST',
      headers,
      body: new URLSearchParams({
        token,
        token_type_hint: 'access_token',
        ...(clientSecret === undefined && { client_id: clientId }),
      }),
      // Tokens go to the address that the operator named, and to nowhere that it points to.
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new StatusFault(response.status);
    }
    const answer = parse(await readBounded(response, MAX_BYTES));
    if (isAnswer(answer)) return answer;
    throw new IssuerFault('answers something that is no introspection response');
  };

  function succeeded(): void {
    failures = 0;
    pausedUntil = Number.NEGATIVE_INFINITY;
    cancelProbe();
    condition.end();
  }

  function failed(cause: unknown): void {
    failures += 1;
    lastFailure = cause;
    if (failures >= FAILURES_TO_OPEN) pausedUntil = clock.monotonic() + COOLDOWN_MS;
    const ofOneToken = cause instanceof StatusFault && cause.status === BAD_REQUEST;
    if (ofOneToken && failures < FAILURES_TO_OPEN) return;
    condition.begin(`security.introspection.endpoint ${issuerProblem(cause)}`);
    cancelProbe();
    if (!closed) cancelProbe = delay(PROBE_MS, () => void request(PROBE_TOKEN).then(succeeded, failed));
  }

  const ask = async (token: string): Promise<Answer> => {
    const now = clock.monotonic();
    if (now < pausedUntil) throw unavailable((pausedUntil - now) / 1000);
    if (inFlight >= MAX_IN_FLIGHT) throw unavailable(1);
    // Of many that come after a pause, this one finds out.
    if (failures >= FAILURES_TO_OPEN) pausedUntil = now + COOLDOWN_MS;
    inFlight += 1;
    try {
      const answer = await request(token);
      succeeded();
      return answer;
    } catch (cause) {
      failed(cause);
      throw unavailable((pausedUntil - clock.monotonic()) / 1000);
    } finally {
      inFlight -= 1;
    }
  };

  return {
    ask,
    close() {
      closed = true;
      cancelProbe();
    },
  };
}

class StatusFault extends IssuerFault {
  readonly status: number;

  constructor(status: number) {
    const hint = status === 401 || status === 403 ? ': it refuses clientId or clientSecret' : '';
    super(`answers with status ${status}${hint}`);
    this.status = status;
  }
}

/** The parser's own error would quote the answer, which may hold the token. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** `active` is the one field that RFC 7662 requires. Without it, what answered is no introspection endpoint. */
function isAnswer(value: unknown): value is Answer {
  return typeof value === 'object' && value !== null && typeof Reflect.get(value, 'active') === 'boolean';
}

/** Both halves are form-encoded first (RFC 6749, section 2.3.1), so that a colon in the id cannot move the border. */
function basic(id: string, secret: string): string {
  const encode = (text: string) => new URLSearchParams([['', text]]).toString().slice(1);
  return `Basic ${Buffer.from(`${encode(id)}:${encode(secret)}`).toString('base64')}`;
}
