import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { RdcpError } from '../errors.ts';
import type { Sender } from './authenticator.ts';
import type { CredentialVerifier } from './authenticators.ts';
import { createIntrospectionClient, type IntrospectionSurroundings, MAX_IN_FLIGHT } from './introspection-client.ts';
import type { Answer, IntrospectionEndpoint } from './introspection-request.ts';
import { CLOCK_TOLERANCE_SECONDS, principalOf } from './jwt-claims.ts';
import type { Principal } from './principal.ts';
import { refusal } from './refusal.ts';
import { createTurns } from './turns.ts';

/** Settings for the introspection of opaque tokens. */
export interface IntrospectionSettings extends IntrospectionEndpoint {
  /** Required `iss` of the response. @default not checked */
  readonly issuer?: string | undefined;
  /** One of these must be in `aud` of the response. @default not checked */
  readonly audience?: string | readonly string[] | undefined;
  /** @default 'scope', else 'scopes' */
  readonly scopeClaim?: string | undefined;
  /** @default 'tenant_id' */
  readonly tenantClaim?: string | undefined;
}

export interface IntrospectionOptions extends IntrospectionSettings, IntrospectionSurroundings {
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

/** Maximum number of concurrent, and of waiting, requests per client address. */
const MAX_OF_ADDRESS = 4;
const MAX_WAITING = 28;

/** A cached result. */
interface Cached<T> {
  readonly value: T;
  /** On the monotonic clock, milliseconds. */
  readonly askedAt: number;
}

/**
 * Verifies opaque tokens by introspection (RFC 7662). Concurrent requests for a token are combined. Active tokens are cached
 * for a minute, but not past their expiry. An issuer that does not respond causes 503.
 *
 * Made-up tokens cannot block others: each address has few concurrent requests, and none after it has used up its quota of
 * wrong credentials. Tokens that were active before are exempt.
 */
export function createIntrospectionVerifier(options: IntrospectionOptions): CredentialVerifier {
  const { clock, cacheSize = 10_000 } = options;
  const client = createIntrospectionClient(options);
  // Separate caches, so that made-up tokens do not evict active ones.
  const active = new LRUCache<string, Cached<Principal>>({ max: cacheSize });
  const refused = new LRUCache<string, Cached<RdcpError>>({ max: cacheSize });
  const pending = new Map<string, Promise<Principal>>();
  const enqueue = createTurns({
    most: MAX_IN_FLIGHT,
    mostOfKey: MAX_OF_ADDRESS,
    mostWaiting: MAX_WAITING,
    refuse: () => client.unavailable(1),
  });

  const askQueued = (token: string, sender: Sender) => {
    const ask = () => {
      // The request is answered with 429.
      if (sender.isSpent()) throw refusal('bearer');
      return client.ask(token);
    };
    return sender.isSpent() ? ask() : enqueue(sender.address, ask);
  };

  const introspect = async (token: string, digest: string, sender: Sender | undefined): Promise<Principal> => {
    const wasActive = active.has(digest);
    const answer = await (wasActive || sender === undefined ? client.ask(token, wasActive) : askQueued(token, sender));
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

  const recent = <T extends object>(cache: LRUCache<string, Cached<T>>, digest: string, ms: number) => {
    const cached = cache.get(digest);
    return cached !== undefined && clock.monotonic() - cached.askedAt < ms ? cached.value : undefined;
  };

  return {
    verify: (token, _connection, sender) => {
      if (token.length > MAX_TOKEN_LENGTH || !BEARER_TOKEN.test(token)) throw refusal('bearer');
      const digest = hash('sha256', token, 'base64url');
      const principal = recent(active, digest, POSITIVE_MS);
      if (principal !== undefined) return unexpired(principal, clock.now());
      const error = recent(refused, digest, NEGATIVE_MS);
      if (error !== undefined) throw error;
      const asked =
        pending.get(digest) ??
        introspect(token, digest, sender).finally(() => {
          pending.delete(digest);
        });
      pending.set(digest, asked);
      return asked;
    },
    close: () => {
      active.clear();
      refused.clear();
      client.close();
    },
  };
}

/** @throws if the response does not accept the token as an access token for this server */
function readAnswer(answer: Answer, options: IntrospectionOptions, now: number): Principal {
  const { issuer, audience, scopeClaim, tenantClaim = 'tenant_id' } = options;
  if (answer.active !== true) throw new Error('the token is not active');
  if (issuer !== undefined && answer.iss !== issuer) throw new Error('the token has another issuer');
  if (audience !== undefined && !isFor(answer.aud, audience)) throw new Error('the token has another audience');
  assertAccessToken(answer);
  const { nbf, sub, username, client_id: clientId } = answer;
  if (nbf !== undefined && !(typeof nbf === 'number' && nbf <= now / 1000 + CLOCK_TOLERANCE_SECONDS)) {
    throw new Error('the token is not valid yet');
  }
  const scopeClaims = scopeClaim === undefined ? ['scope', 'scopes'] : [scopeClaim];
  // Tokens of a client acting for itself have no user. RFC 7662 requires none of the three fields.
  const claims = { ...answer, sub: sub ?? username ?? clientId };
  return unexpired(principalOf(claims, { scopeClaims, tenantClaim }, now), now);
}

/** Issuers also introspect refresh tokens, and report them as active. */
function assertAccessToken({ token_type: type, token_use: use }: Answer): void {
  if (type !== undefined && !(typeof type === 'string' && type.toLowerCase() === 'bearer')) {
    throw new Error('not a bearer token');
  }
  if (use !== undefined && use !== 'access_token' && use !== 'access') throw new Error('not an access token');
}

function isFor(claim: unknown, audience: string | readonly string[]): boolean {
  const named: readonly unknown[] = Array.isArray(claim) ? claim : [claim];
  return [audience].flat().some((each) => named.includes(each));
}

function unexpired(principal: Principal, now: number): Principal {
  if (principal.expiresAt !== undefined && principal.expiresAt <= now) throw refusal('bearer', 'token_expired');
  return principal;
}
