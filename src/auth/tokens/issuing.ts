import type { Clock } from '../../clock.ts';
import { RdcpError } from '../../errors.ts';
import type { Scope } from '../../protocol/constants.ts';
import type { TokenStore } from '../../store/token-store.ts';
import { CLOCK_TOLERANCE_SECONDS } from '../jwt-claims.ts';
import type { Principal } from '../principal.ts';
import { type OwnIssuerOptions, signAccessToken } from './access-token.ts';
import { newRefreshToken } from './refresh-token.ts';
import type { Revocations } from './revocations.ts';
import { encodeSession, newSessionId } from './session.ts';

export interface IssuingOptions {
  readonly issuer: Pick<OwnIssuerOptions, 'issuer' | 'audience' | 'keys'>;
  readonly accessTokenSeconds: number;
  readonly refreshTokenSeconds: number;
  readonly store: TokenStore;
  readonly revocations: Revocations;
  readonly clock: Clock;
  readonly randomBytes: (size: number) => Uint8Array;
}

/** Tokens returned to a client. */
export interface IssuedTokens {
  readonly accessToken: string;
  readonly expiresInSeconds: number;
  readonly scopes: readonly Scope[];
  readonly refreshToken?: string;
}

export interface IssueRequest {
  /** Principal of the token. Limits its lifetime and scopes. */
  readonly principal: Principal;
  readonly scopes: readonly Scope[];
  /** The session of the exchanged token, if it is one of ours. */
  readonly parent?: string | undefined;
  readonly refreshable: boolean;
}

/** Issues tokens, and begins and ends their sessions. */
export function createIssuing(options: IssuingOptions) {
  const { issuer, accessTokenSeconds, refreshTokenSeconds, store, revocations, clock, randomBytes } = options;
  const random = (size: number) => Buffer.from(randomBytes(size)).toString('base64url');

  /** Latest expiry of an access token signed now, including clock skew. */
  const lastTokenEnd = (now: number) => now + (accessTokenSeconds + 2 * CLOCK_TOLERANCE_SECONDS) * 1000;

  async function accessToken(
    principal: Omit<Principal, 'method' | 'scopes'>,
    scopes: readonly Scope[],
    sessionId: string,
    sessionEnd: number,
  ): Promise<IssuedTokens> {
    const issuedAt = clock.now();
    const expiresAt = Math.min(issuedAt + accessTokenSeconds * 1000, sessionEnd);
    const content = { principal, scopes, sessionId, issuedAt, expiresAt };
    return {
      accessToken: await signAccessToken(issuer, content, random(16)),
      expiresInSeconds: Math.max(0, Math.floor(expiresAt / 1000) - Math.floor(issuedAt / 1000)),
      scopes,
    };
  }

  return {
    accessToken,
    lastTokenEnd,

    /** Begins a session. */
    async begin({ principal, scopes, parent, refreshable }: IssueRequest) {
      const now = clock.now();
      const sessionId = newSessionId(parent, randomBytes);
      // A session does not outlive the credential that it was begun with.
      const sessionEnd = Math.min(now + refreshTokenSeconds * 1000, principal.expiresAt ?? Number.POSITIVE_INFINITY);
      const tokens = await accessToken(principal, scopes, sessionId, sessionEnd);
      if (!refreshable) return { sessionId, tokens };
      const tagKey = random(32);
      const { token: refreshToken, hash: current } = newRefreshToken(sessionId, tagKey, randomBytes);
      const { userId, clientId, tenantId, keyId, certificateThumbprint } = principal;
      const data = encodeSession({
        userId,
        clientId,
        tenantId,
        scopes: [...scopes],
        keyId,
        certificateThumbprint,
        tagKey,
      });
      await fromStore(store.begin({ id: sessionId, current, data, expiresAt: sessionEnd }, now));
      return { sessionId, tokens: { ...tokens, refreshToken } };
    },

    /** Revokes a session in all processes. Resolves with false if it was revoked before. */
    async end(sessionId: string): Promise<boolean> {
      const now = clock.now();
      const until = lastTokenEnd(now);
      const ended = await fromStore(store.revoke(sessionId, until, now));
      revocations.add(sessionId, until);
      return ended;
    },
  };
}

export type Issuing = ReturnType<typeof createIssuing>;

/** Returns the store's result. A failing store causes 503. */
export async function fromStore<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    throw new RdcpError('RDCP_UNAVAILABLE', 'The token store is unreachable', {
      headers: { 'Retry-After': '1' },
      cause,
    });
  }
}
