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

/** Where opaque tokens are introspected, and how the answer is read. */
export interface IntrospectionSettings extends IntrospectionEndpoint {
  /** When given, `iss` of the answer must be it. */
  readonly issuer?: string | undefined;
  /** When given, one of these must be in `aud` of the answer. */
  readonly audience?: string | readonly string[] | undefined;
  /** @default 'scope', else 'scopes' */
  readonly scopeClaim?: string | undefined;
  /** @default 'tenant_id' */
  readonly tenantClaim?: string | undefined;
}

export interface IntrospectionOptions extends IntrospectionSettings, IntrospectionSurroundings {
  /** Most tokens that are remembered as active, and as refused. @default 10000 */
  readonly cacheSize?: number;
}

/** RFC 6750, section 2.1: what a bearer token consists of. */
const BEARER_TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;
const MAX_TOKEN_LENGTH = 4096;
/** How long an answer is believed: a token that its issuer revokes ends as soon as that. */
const POSITIVE_MS = 60_000;
/** A token that is not active does not become so; this is short because it may not have reached every server yet. */
const NEGATIVE_MS = 10_000;

/** Requests about tokens of one address at a time, and most of them that wait for their turn. */
const MAX_OF_ADDRESS = 4;
const MAX_WAITING = 28;

/** What was answered for a token. */
interface Verdict<T> {
  readonly value: T;
  /** On the monotonic clock, milliseconds. */
  readonly askedAt: number;
}

/**
 * Verifies opaque tokens by asking their issuer (RFC 7662). Each token is asked for once at a time, a positive answer is
 * believed for a minute and never past the token's expiry, and an issuer that does not answer makes it 503.
 *
 * Made-up tokens keep nobody else from being asked about: an address has few requests at a time, and none once it has
 * spent its quota of wrong credentials. A token that was active when it was last asked about is always asked about.
 */
export function createIntrospectionVerifier(options: IntrospectionOptions): CredentialVerifier {
  const { clock, cacheSize = 10_000 } = options;
  const client = createIntrospectionClient(options);
  // Apart, so that made-up tokens push out no others.
  const active = new LRUCache<string, Verdict<Principal>>({ max: cacheSize });
  const refused = new LRUCache<string, Verdict<RdcpError>>({ max: cacheSize });
  const pending = new Map<string, Promise<Principal>>();
  const turns = createTurns({
    most: MAX_IN_FLIGHT,
    mostOfKey: MAX_OF_ADDRESS,
    mostWaiting: MAX_WAITING,
    refuse: () => client.unavailable(1),
  });

  const askInTurn = (token: string, sender: Sender) => {
    const ask = () => {
      // The answer to the request is 429 then.
      if (sender.isSpent()) throw refusal('bearer');
      return client.ask(token);
    };
    return sender.isSpent() ? ask() : turns(sender.address, ask);
  };

  const introspect = async (token: string, digest: string, sender: Sender | undefined): Promise<Principal> => {
    const wasActive = active.has(digest);
    const answer = await (wasActive || sender === undefined ? client.ask(token, wasActive) : askInTurn(token, sender));
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

  const recent = <T extends object>(verdicts: LRUCache<string, Verdict<T>>, digest: string, ms: number) => {
    const verdict = verdicts.get(digest);
    return verdict !== undefined && clock.monotonic() - verdict.askedAt < ms ? verdict.value : undefined;
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

/** @throws for an answer that is no yes to an access token for us */
function readAnswer(answer: Answer, options: IntrospectionOptions, now: number): Principal {
  const { issuer, audience, scopeClaim, tenantClaim = 'tenant_id' } = options;
  if (answer.active !== true) throw new Error('the token is not active');
  if (issuer !== undefined && answer.iss !== issuer) throw new Error('not the token of the issuer');
  if (audience !== undefined && !isFor(answer.aud, audience)) throw new Error('the token is for somebody else');
  refuseOtherKinds(answer);
  const { nbf, sub, username, client_id: clientId } = answer;
  if (nbf !== undefined && !(typeof nbf === 'number' && nbf <= now / 1000 + CLOCK_TOLERANCE_SECONDS)) {
    throw new Error('the token is not valid yet');
  }
  const scopeClaims = scopeClaim === undefined ? ['scope', 'scopes'] : [scopeClaim];
  // A client that acts for itself has no user (RFC 7662 requires none of the three).
  const claims = { ...answer, sub: sub ?? username ?? clientId };
  return unexpired(principalOf(claims, { scopeClaims, tenantClaim }, now), now);
}

/** An issuer introspects refresh tokens too, and answers that they are active. */
function refuseOtherKinds({ token_type: type, token_use: use }: Answer): void {
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
