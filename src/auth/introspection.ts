import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { RdcpError } from '../errors.ts';
import type { CredentialVerifier } from './authenticators.ts';
import {
  createIntrospectionClient,
  type IntrospectionClientOptions,
  type IntrospectionSurroundings,
} from './introspection-client.ts';
import { CLOCK_TOLERANCE_SECONDS, principalOf } from './jwt-claims.ts';
import type { Principal } from './principal.ts';
import { refusal } from './refusal.ts';

/** Where opaque tokens are introspected, and how the answer is read. */
export interface IntrospectionSettings extends IntrospectionClientOptions {
  /** When given, `iss` of the answer must be it. */
  readonly issuer?: string | undefined;
  /** When given, one of these must be in `aud` of the answer. */
  readonly audience?: string | readonly string[] | undefined;
  /** @default 'scope', else 'scopes' */
  readonly scopeClaim?: string | undefined;
  /** @default 'tenant_id' */
  readonly tenantClaim?: string | undefined;
}

export type IntrospectionOptions = IntrospectionSettings & IntrospectionSurroundings;

/** RFC 6750, section 2.1: what a bearer token consists of. */
const BEARER_TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;
const MAX_TOKEN_LENGTH = 4096;
/** How long an answer is believed: a token that its issuer revokes ends as soon as that. */
const POSITIVE_MS = 60_000;
/** A token that is not active does not become so; this is short because it may not have reached every server yet. */
const NEGATIVE_MS = 10_000;
const MAX_REMEMBERED = 10_000;

/** What was answered for a token. */
interface Verdict {
  /** Absent for a token that is refused. */
  readonly principal?: Principal;
  readonly error?: RdcpError;
  /** On the monotonic clock, milliseconds. */
  readonly askedAt: number;
}

/**
 * Verifies opaque tokens by asking their issuer (RFC 7662). Each token is asked for once at a time, a positive answer is
 * believed for a minute and never past the token's expiry, and an issuer that does not answer makes it 503.
 */
export function createIntrospectionVerifier(options: IntrospectionOptions): CredentialVerifier {
  const { clock } = options;
  const client = createIntrospectionClient(options);
  const verdicts = new LRUCache<string, Verdict>({ max: MAX_REMEMBERED });
  const pending = new Map<string, Promise<Principal>>();

  const introspect = async (token: string, digest: string): Promise<Principal> => {
    const answer = await client.ask(token);
    const askedAt = clock.monotonic();
    try {
      const principal = readAnswer(answer, options, clock.now());
      verdicts.set(digest, { principal, askedAt });
      return principal;
    } catch (cause) {
      const error = cause instanceof RdcpError ? cause : refusal('bearer', 'invalid_token', cause);
      verdicts.set(digest, { error, askedAt });
      throw error;
    }
  };

  return {
    verify: (token) => {
      if (token.length > MAX_TOKEN_LENGTH || !BEARER_TOKEN.test(token)) throw refusal('bearer');
      const digest = hash('sha256', token, 'base64url');
      const known = verdicts.get(digest);
      const age = known === undefined ? Number.POSITIVE_INFINITY : clock.monotonic() - known.askedAt;
      if (known?.error !== undefined && age < NEGATIVE_MS) throw known.error;
      if (known?.principal !== undefined && age < POSITIVE_MS) return unexpired(known.principal, clock.now());
      const asked =
        pending.get(digest) ??
        introspect(token, digest).finally(() => {
          pending.delete(digest);
        });
      pending.set(digest, asked);
      return asked;
    },
    close: () => {
      verdicts.clear();
      client.close();
    },
  };
}

/** @throws for an answer that is no yes to an access token for us */
function readAnswer(answer: Readonly<Record<string, unknown>>, options: IntrospectionOptions, now: number): Principal {
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
function refuseOtherKinds({ token_type: type, token_use: use }: Readonly<Record<string, unknown>>): void {
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
