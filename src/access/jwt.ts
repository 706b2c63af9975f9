import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { JwtIssuerOptions } from '../options/options.ts';
import { type Conditions, UNWATCHED } from '../otel/report/conditions.ts';
import { isRdcpError } from '../wire/errors.ts';
import type { Clock, Delay } from '../wire/time/clock.ts';
import { readClaims, readHeader } from './jws.ts';
import { CLOCK_TOLERANCE_SECONDS, principalOf } from './jwt-claims.ts';
import { type TrustedIssuer, trustIssuers } from './jwt-issuer.ts';
import type { Principal } from './principal.ts';
import { refusal } from './refusal.ts';

/** Maximum token size in bytes: the room that a request's headers have. */
export const MAX_TOKEN_BYTES = 8 * 1024;
/** How long a verification is cached. A withdrawn key stops working after this time. */
const MAX_CACHE_MS = 5 * 60_000;

interface JwtVerifierOptions {
  readonly issuers: readonly JwtIssuerOptions[];
  readonly own?: TrustedIssuer | undefined;
  readonly clock: Clock;
  /** @default not watched */
  readonly conditions?: Pick<Conditions, 'watch'>;
  /** For retries after a failure. @default retried only with the next token */
  readonly delay?: Delay;
  readonly cacheSize?: number;
}

export type JwtVerifier = ReturnType<typeof createJwtVerifier>;

interface Verification {
  readonly principal: Principal;
  readonly issuer: TrustedIssuer;
  /** Milliseconds since the epoch. */
  readonly verifiedAt: number;
}

/** Verifies JWTs (RFC 7519, RFC 9068, RFC 8725). Valid tokens are cached by their SHA-256, at most for five minutes; refused ones are not. */
export function createJwtVerifier({
  issuers,
  own,
  clock,
  conditions = { watch: () => UNWATCHED },
  delay = () => () => undefined,
  cacheSize = 10_000,
}: JwtVerifierOptions) {
  const trusted = trustIssuers(issuers, { clock, conditions, delay }, own);
  const cache = new LRUCache<string, Verification>({ max: cacheSize });

  const verifyUncached = async (token: string, digest: string): Promise<Principal> => {
    try {
      const { principal, issuer } = await verify(token, trusted, clock.now());
      cache.set(digest, { principal, issuer, verifiedAt: clock.now() });
      return await admit(principal, issuer);
    } catch (error) {
      if (isRdcpError(error)) throw error;
      const { errors } = await import('jose');
      throw refusal('bearer', error instanceof errors.JWTExpired ? 'token_expired' : 'invalid_token', error);
    }
  };

  return {
    verify: (token: string): Principal | Promise<Principal> => {
      if (token.length > MAX_TOKEN_BYTES) throw refusal('bearer');
      const digest = hash('sha256', token, 'base64url');
      const known = cache.get(digest);
      return known !== undefined && isFresh(known, clock.now())
        ? admit(known.principal, known.issuer)
        : verifyUncached(token, digest);
    },
    isFromKnownIssuer: (token: string): boolean => trusted.has(claimedIssuer(token)),
    close: (): void => {
      for (const issuer of trusted.values()) issuer.close?.();
    },
  };
}

function isFresh({ principal, verifiedAt }: Verification, now: number): boolean {
  const age = now - verifiedAt;
  return age >= 0 && age < MAX_CACHE_MS && now < (principal.expiresAt ?? 0);
}

function admit(principal: Principal, issuer: TrustedIssuer): Principal | Promise<Principal> {
  return issuer.admit === undefined ? principal : issuer.admit(principal);
}

async function verify(token: string, trusted: ReadonlyMap<string, TrustedIssuer>, now: number) {
  const header = readHeader(token);
  if (header === undefined) throw new Error('not a signed token with an acceptable header');
  if (header.typ !== undefined && !isAccessTokenType(header.typ)) throw new Error('not the type of an access token');
  const issuer = trusted.get(claimedIssuer(token));
  if (issuer === undefined) throw new Error('unknown issuer');
  // Checked before the key is fetched: a wrong algorithm must not cause a request.
  if (header.alg === undefined || !issuer.algorithms.includes(header.alg))
    throw new Error('the algorithm is not allowed for this issuer');
  // With the first token: most services use API keys only.
  const { jwtVerify } = await import('jose');
  const { payload } = await jwtVerify(token, await issuer.key(header), {
    algorithms: issuer.algorithms,
    issuer: issuer.issuer,
    audience: issuer.audience,
    requiredClaims: ['exp', 'sub', 'iss', 'aud'],
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    currentDate: new Date(now),
  });
  return { principal: principalOf(payload, issuer, now), issuer };
}

function claimedIssuer(token: string): string {
  const iss = readClaims(token)?.iss;
  return typeof iss === 'string' ? iss : '';
}

/** RFC 9068, section 2.1, and RFC 7519, section 5.1. Case-insensitive, without `application/`. */
const TYPES = ['jwt', 'at+jwt'];

function isAccessTokenType(typ: unknown): boolean {
  return typeof typ === 'string' && TYPES.includes(typ.toLowerCase().replace(/^application\//, ''));
}
