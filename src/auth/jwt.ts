import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Clock, Delay } from '../clock.ts';
import { type Conditions, UNWATCHED } from '../conditions.ts';
import { isRdcpError } from '../errors.ts';
import type { CredentialVerifier } from './authenticators.ts';
import { byConnection } from './by-connection.ts';
import { loadJose } from './jose.ts';
import { CLOCK_TOLERANCE_SECONDS, principalOf } from './jwt-claims.ts';
import { readHeader } from './jwt-header.ts';
import { type JwtIssuer, type TrustedIssuer, trustIssuers } from './jwt-issuer.ts';
import type { Principal } from './principal.ts';
import { refusal } from './refusal.ts';

/** Longest token that is looked at, in bytes: what a request's headers have room for. */
export const MAX_TOKEN_BYTES = 8 * 1024;
/** A verified token is verified again after this time, so that a key that its issuer withdrew ends. */
const MAX_CACHE_MS = 5 * 60_000;

export interface JwtVerifierOptions {
  readonly issuers: readonly JwtIssuer[];
  /** This server itself, where it issues tokens. */
  readonly own?: TrustedIssuer | undefined;
  readonly clock: Clock;
  /** @default not watched */
  readonly conditions?: Pick<Conditions, 'watch'>;
  /** For asking an issuer again that did not answer. @default never, but for the next token */
  readonly delay?: Delay;
  /** For the issuers' key sets. @default the global `fetch` */
  readonly fetch?: typeof globalThis.fetch;
  /** Most verified tokens that are remembered. @default 10000 */
  readonly cacheSize?: number;
}

/** Verifies the JWTs of known issuers. */
export interface JwtVerifier extends CredentialVerifier {
  /** Whether a token says that it is a JWT of one of the issuers. Nothing of it is verified. */
  claims(token: string): Promise<boolean>;
  /** Asks the issuers that publish their keys for them, so that an outage shows before the first token. */
  checkIssuers(): void;
}

interface Verified {
  readonly principal: Principal;
  readonly issuer: TrustedIssuer;
  /** Milliseconds since the epoch. */
  readonly verifiedAt: number;
}

/**
 * Verifies bearer tokens that are JWTs of a configured issuer (RFC 7519, RFC 9068, and the advice of RFC 8725).
 * Verified tokens are remembered by their SHA-256 until they expire, five minutes at most; refused ones are not.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` when an issuer is wrong
 */
export function createJwtVerifier({
  issuers,
  own,
  clock,
  conditions = { watch: () => UNWATCHED },
  delay = () => () => undefined,
  fetch = globalThis.fetch,
  cacheSize = 10_000,
}: JwtVerifierOptions): JwtVerifier {
  const trusted = trustIssuers(issuers, { fetch, clock, conditions, delay }, own);
  const cache = new LRUCache<string, Verified>({ max: cacheSize });
  const digestOf = byConnection((token) => hash('sha256', token, 'base64url'));

  const verifyAnew = async (token: string, digest: string): Promise<Principal> => {
    try {
      const { principal, issuer } = await verify(token, trusted, clock.now());
      cache.set(digest, { principal, issuer, verifiedAt: clock.now() });
      return await admitted(principal, issuer);
    } catch (error) {
      if (isRdcpError(error)) throw error;
      const { errors } = await loadJose();
      throw refusal('bearer', error instanceof errors.JWTExpired ? 'token_expired' : 'invalid_token', error);
    }
  };

  return {
    verify: (token, connection) => {
      if (Buffer.byteLength(token, 'latin1') > MAX_TOKEN_BYTES) throw refusal('bearer');
      const digest = digestOf(token, connection);
      const known = cache.get(digest);
      return known !== undefined && holds(known, clock.now())
        ? admitted(known.principal, known.issuer)
        : verifyAnew(token, digest);
    },
    claims: async (token) => token.includes('.') && trusted.has(await claimedIssuer(token)),
    checkIssuers: () => {
      for (const issuer of trusted.values()) void issuer.check?.();
    },
    close: () => {
      cache.clear();
      for (const issuer of trusted.values()) issuer.close?.();
    },
  };
}

function holds({ principal, verifiedAt }: Verified, now: number): boolean {
  const age = now - verifiedAt;
  return age >= 0 && age < MAX_CACHE_MS && now < (principal.expiresAt ?? 0);
}

function admitted(principal: Principal, issuer: TrustedIssuer): Principal | Promise<Principal> {
  return issuer.admit === undefined ? principal : issuer.admit(principal);
}

async function verify(token: string, trusted: ReadonlyMap<string, TrustedIssuer>, now: number) {
  const header = await readHeader(token);
  const issuer = trusted.get(await claimedIssuer(token));
  if (issuer === undefined) throw new Error('not the token of a known issuer');
  // Before the key: a token with a wrong algorithm must not make anybody fetch.
  if (header.alg === undefined || !issuer.algorithms.includes(header.alg))
    throw new Error('not an algorithm of the issuer');
  const { jwtVerify } = await loadJose();
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

/** Not verified yet: it only chooses whose key is tried. Empty, which no issuer is, where there is none. */
async function claimedIssuer(token: string): Promise<string> {
  const { decodeJwt } = await loadJose();
  try {
    const { iss } = decodeJwt(token);
    return typeof iss === 'string' ? iss : '';
  } catch {
    return '';
  }
}
