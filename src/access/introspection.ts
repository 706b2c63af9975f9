import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { IntrospectionOptions } from '../options/options.ts';
import { type Condition, UNWATCHED } from '../otel/report/conditions.ts';
import { createTurns } from '../store/one-at-a-time.ts';
import { RdcpError, SettingFault, settingProblem, unavailable } from '../wire/errors.ts';
import { parsedJson } from '../wire/json-text.ts';
import { type Answer, send } from '../wire/net/request.ts';
import { trustedUri } from '../wire/net/trusted-uri.ts';
import type { Clock } from '../wire/time/clock.ts';
import type { CredentialVerifier, Sender } from './authenticator.ts';
import { CLOCK_TOLERANCE_SECONDS, claimNames, isFor, principalOf } from './jwt-claims.ts';
import type { Principal } from './principal.ts';
import { refusal } from './refusal.ts';

export interface IntrospectionVerifierOptions extends IntrospectionOptions {
  readonly clock: Clock;
  readonly condition?: Condition;
  /** Maximum number of cached active tokens, and of cached refused tokens. @default 10000 */
  readonly cacheSize?: number;
}

/** Syntax of a bearer token (RFC 6750, section 2.1). */
const BEARER_TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;
const MAX_TOKEN_LENGTH = 4096;
/** How long an active token is cached. A revoked token is accepted for this long. */
const POSITIVE_MS = 60_000;
/** How long a refused token is cached. Short, because a new token may not have reached every server of the issuer. */
const NEGATIVE_MS = 10_000;

/** Maximum number of concurrent requests for tokens that were not active before: made-up tokens must not flood the issuer. */
const MAX_IN_FLIGHT = 32;
const MAX_OF_ADDRESS = 4;
const MAX_WAITING = 28;
/** Maximum number of concurrent requests for addresses that have used up their quota; one for each. */
const MAX_RESERVED = 4;
/** Tokens that are remembered because they found no place among those that wait. */
const MAX_TURNED_AWAY = 20_000;

interface CacheEntry<T> {
  readonly value: T;
  /** On the monotonic clock, milliseconds. */
  readonly askedAt: number;
}

/**
 * Verifies opaque tokens by introspection (RFC 7662). Concurrent requests for a token are combined. Active tokens are cached
 * for a minute, but not past their expiry. An issuer that does not respond causes 503.
 *
 * Made-up tokens cannot block others: each address has few concurrent requests, and one from a small reserve after it has used
 * up its quota of wrong credentials, so that a valid token from there gets its turn. One that finds no place there and comes again has a
 * line of its own: junk is made up afresh. Tokens that were active before are exempt.
 */
export function createIntrospectionVerifier(options: IntrospectionVerifierOptions): CredentialVerifier {
  const { clock, condition = UNWATCHED, cacheSize = 10_000 } = options;
  const request = introspectionRequest(options);
  // Separate caches, so that made-up tokens do not evict active ones.
  const active = new LRUCache<string, CacheEntry<Principal>>({ max: cacheSize });
  const refused = new LRUCache<string, CacheEntry<RdcpError>>({ max: cacheSize });
  const pending = new Map<string, Promise<Principal>>();
  const enqueue = createTurns({
    most: MAX_IN_FLIGHT,
    mostOfKey: MAX_OF_ADDRESS,
    mostWaiting: MAX_WAITING,
    refuse: () => notVerified(),
  });

  const createReserve = () =>
    createTurns({
      most: MAX_RESERVED,
      mostOfKey: 1,
      mostWaiting: MAX_WAITING,
      // The request is answered with 429.
      refuse: () => refusal('bearer'),
    });
  const reserve = { ofNew: createReserve(), ofReturned: createReserve() };
  const turnedAway = new LRUCache<string, true>({ max: MAX_TURNED_AWAY });

  const ask = async (token: string): Promise<Introspection> => {
    try {
      const answer = await request(token);
      condition.end();
      return answer;
    } catch (cause) {
      condition.begin(`security.introspection.endpoint ${settingProblem(cause)}`);
      throw notVerified(cause);
    }
  };

  const askQueued = async (token: string, digest: string, sender: Sender | undefined) => {
    const address = sender?.address ?? '';
    const isSpent = () => sender?.isSpent() === true;
    const askInTurn = () => {
      turnedAway.delete(digest);
      return ask(token);
    };
    const returns = turnedAway.has(digest);
    // Until it has its turn.
    turnedAway.set(digest, true);
    if (returns) return reserve.ofReturned(address, askInTurn);
    const answer = isSpent() ? undefined : await enqueue(address, async () => (isSpent() ? undefined : askInTurn()));
    return answer ?? reserve.ofNew(address, askInTurn);
  };

  const introspect = async (token: string, digest: string, sender: Sender | undefined): Promise<Principal> => {
    const answer = await (active.has(digest) ? ask(token) : askQueued(token, digest, sender));
    const askedAt = clock.monotonic();
    try {
      const principal = readAnswer(answer, options, clock.now());
      active.set(digest, { value: principal, askedAt });
      return principal;
    } catch (cause) {
      const error = cause instanceof RdcpError ? cause : refusal('bearer', 'invalid_token', cause);
      active.delete(digest);
      refused.set(digest, { value: error, askedAt });
      throw error;
    }
  };

  const recent = <T extends object>(cache: LRUCache<string, CacheEntry<T>>, digest: string, ms: number) => {
    const cached = cache.get(digest);
    return cached !== undefined && clock.monotonic() - cached.askedAt < ms ? cached.value : undefined;
  };

  return {
    verify: (token, sender) => {
      if (token.length > MAX_TOKEN_LENGTH || !BEARER_TOKEN.test(token)) throw refusal('bearer');
      const digest = hash('sha256', token, 'base64url');
      const principal = recent(active, digest, POSITIVE_MS);
      if (principal !== undefined) return unexpired(principal, clock.now());
      const error = recent(refused, digest, NEGATIVE_MS);
      if (error !== undefined) throw error;
      const verification =
        pending.get(digest) ??
        introspect(token, digest, sender).finally(() => {
          pending.delete(digest);
        });
      pending.set(digest, verification);
      return verification;
    },
  };
}

function notVerified(cause?: unknown): RdcpError {
  return unavailable('The token cannot be verified at the moment', cause, 1);
}

/** @throws if the response does not accept the token as an access token for this server */
function readAnswer(answer: Introspection, options: IntrospectionOptions, now: number): Principal {
  const { issuer, audience } = options;
  if (answer.active !== true) throw new Error('the token is not active');
  if (issuer !== undefined && answer.iss !== issuer) throw new Error('the token has another issuer');
  if (audience !== undefined && !isFor(answer.aud, audience)) throw new Error('the token has another audience');
  assertAccessToken(answer);
  const { nbf, sub, username, client_id: clientId } = answer;
  if (nbf !== undefined && !(typeof nbf === 'number' && nbf <= now / 1000 + CLOCK_TOLERANCE_SECONDS)) {
    throw new Error('the token is not valid yet');
  }
  // Tokens of a client acting for itself have no user. RFC 7662 requires none of the three fields.
  const claims = { ...answer, sub: sub ?? username ?? clientId };
  return unexpired(principalOf(claims, claimNames(options), now), now);
}

/** Issuers also introspect refresh tokens, and report them as active. */
function assertAccessToken({ token_type: type, token_use: use }: Introspection): void {
  if (type !== undefined && !(typeof type === 'string' && type.toLowerCase() === 'bearer')) {
    throw new Error('not a bearer token');
  }
  if (use !== undefined && use !== 'access_token' && use !== 'access') throw new Error('not an access token');
}

function unexpired(principal: Principal, now: number): Principal {
  if (principal.expiresAt !== undefined && principal.expiresAt <= now) throw refusal('bearer', 'token_expired');
  return principal;
}

type IntrospectionEndpoint = Pick<IntrospectionOptions, 'endpoint' | 'clientId' | 'clientSecret'>;

type Introspection = Readonly<Record<string, unknown>>;

const TIMEOUT_MS = 3000;
const MAX_BYTES = 64 * 1024;

/** RFC 6749, section 5.2. */
const ABOUT_CLIENT = ['invalid_client', 'unauthorized_client'];
/** RFC 6750, section 3.1. Some servers send it in the body. */
const ABOUT_TOKEN = 'invalid_token';

/** Asks the issuer about a token (RFC 7662, section 2). Rejects without a valid response. @throws {RdcpError} `RDCP_CONFIG_INVALID` for an endpoint that is not https */
function introspectionRequest({
  endpoint,
  clientId,
  clientSecret,
}: IntrospectionEndpoint): (token: string) => Promise<Introspection> {
  const url = trustedUri(endpoint, 'security.introspection.endpoint');
  const headers = {
    Accept: 'application/json',
    'Content-Type': 'application/x-www-form-urlencoded',
    ...(clientSecret !== undefined && { Authorization: basic(clientId, clientSecret) }),
  };
  return async (token) => {
    const form = new URLSearchParams({
      token,
      token_type_hint: 'access_token',
      ...(clientSecret === undefined && { client_id: clientId }),
    });
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const answer = await send({ url, headers, body: String(form), maxBytes: MAX_BYTES, signal });
    const { status } = answer;
    const body = parsedJson(answer.text ?? '');
    if (status === 200 && isIntrospection(body)) return body;
    if (status === 200) throw new SettingFault('answers with an invalid introspection response');
    if (refusesToken(answer, body)) return { active: false };
    const ofClient = [400, 401, 403].includes(status) ? ': it refuses clientId or clientSecret' : '';
    throw new SettingFault(`answers with status ${status}${ofClient}`);
  };
}

/** RFC 7662 has 200 for inactive tokens, 401 for an unknown client. Some servers refuse tokens with 400, or 401 and an error code. */
function refusesToken({ status, headers }: Answer, body: unknown): boolean {
  const { error: code } = Object(body);
  if (status === 400) return !ABOUT_CLIENT.includes(String(code));
  const challenge = headers['www-authenticate'] ?? '';
  return status === 401 && (code === ABOUT_TOKEN || challenge.includes(`error="${ABOUT_TOKEN}"`));
}

/** `active` is the only field that RFC 7662 requires. */
function isIntrospection(value: unknown): value is Introspection {
  return typeof Object(value).active === 'boolean';
}

/** Both parts are form-encoded first (RFC 6749, section 2.3.1), so that the id may contain a colon. */
function basic(id: string, secret: string): string {
  const encode = (text: string) => new URLSearchParams([['', text]]).toString().slice(1);
  return `Basic ${Buffer.from(`${encode(id)}:${encode(secret)}`).toString('base64')}`;
}
