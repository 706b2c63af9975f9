import type { Clock } from '../../clock.ts';
import type { TokenGrant } from '../../protocol/oauth-messages.ts';
import type { TokenSession, TokenStore } from '../../store/token-store.ts';
import type { ApiKeyVerifier } from '../api-keys.ts';
import { assertBinding } from '../hybrid.ts';
import type { Principal } from '../principal.ts';
import { grantOf, type TokenCall } from './call.ts';
import { fromStore, type Issuing } from './issuing.ts';
import { boundToKey } from './key-bound.ts';
import { type Parameters, requestedScopes } from './parameters.ts';
import { newRefreshToken, parseRefreshToken, wasIssued } from './refresh-token.ts';
import { badCredential, othersToken, withOAuthError } from './refusals.ts';
import type { Revocations } from './revocations.ts';
import { decodeSession, type SessionData } from './session.ts';

export interface RefreshingOptions {
  readonly store: TokenStore;
  readonly revocations: Revocations;
  readonly issuing: Issuing;
  readonly apiKey: Pick<ApiKeyVerifier, 'principal'> | undefined;
  readonly clock: Clock;
  readonly randomBytes: (size: number) => Uint8Array;
}

interface Found {
  readonly session: TokenSession;
  readonly data: SessionData;
  /** Hash of the token that was presented. */
  readonly presented: string;
  readonly principal: Principal;
}

/** The refresh token grant (RFC 6749, section 6), with rotation (RFC 9700, section 4.14.2). */
export function createRefreshing(options: RefreshingOptions) {
  const { store, revocations, issuing, apiKey, clock, randomBytes } = options;

  /** Finds the active session of a refresh token that was issued here, replaced or not. */
  async function find(token: string): Promise<Found | undefined> {
    const parsed = parseRefreshToken(token);
    if (parsed === undefined) return undefined;
    const session = await fromStore(store.find(parsed.sessionId, clock.now()));
    if (session === undefined) return undefined;
    const data = decodeSession(session.data);
    if (!wasIssued(parsed, data.tagKey) || (await revocations.isRevoked(session.id))) return undefined;
    return { session, data, presented: parsed.hash, principal: principalOf(session, data) };
  }

  /** Replaces the token. Revokes the session if the token was replaced before, because one of its users stole it. */
  async function rotate({ session, presented, principal }: Found, next: string, call: TokenCall): Promise<void> {
    const now = clock.now();
    const revokedUntil = issuing.lastTokenEnd(now);
    const rotation = { id: session.id, expected: presented, next, now, revokedUntil };
    const outcome = await fromStore(store.rotate(rotation));
    if (outcome === 'rotated') return;
    if (outcome === 'reused') {
      revocations.add(session.id, revokedUntil);
      const reason = 'a refresh token was used again: its session is revoked';
      await call.note({ action: 'token.reuse', outcome: 'denied', principal, reason });
    }
    throw badCredential('invalid_grant', 'bearer');
  }

  /** Returns the principal limited to what its API key allows now, or `undefined` if no scope is left. */
  function stillGranted({ principal }: Found): Principal | undefined {
    const granted = boundToKey(principal, (id) => apiKey?.principal(id));
    return granted?.scopes.length === 0 ? undefined : granted;
  }

  return {
    /** @param client authenticated client, if any */
    async refresh(
      call: TokenCall,
      token: string,
      parameters: Parameters,
      client: Principal | undefined,
    ): Promise<TokenGrant> {
      const found = await find(token);
      if (found === undefined) throw badCredential('invalid_grant', 'bearer');
      const { session, data, principal, presented } = found;
      const next = newRefreshToken(session.id, data.tagKey, randomBytes);
      // First check: reuse of a replaced token always revokes its session, even if the request is invalid otherwise.
      if (presented !== session.current) await rotate(found, next.hash, call);
      const named = client?.clientId ?? parameters.get('client_id');
      if (named !== undefined && named !== principal.clientId) throw othersToken('invalid_grant', principal);
      try {
        assertBinding(principal, call.clientCertificate);
      } catch (error) {
        throw withOAuthError(error, 'invalid_grant');
      }
      const granted = stillGranted(found);
      if (granted === undefined) throw badCredential('invalid_grant', 'bearer');
      call.identified(granted);
      const scopes = requestedScopes(parameters, granted);
      await rotate(found, next.hash, call);
      try {
        const tokens = await issuing.accessToken(principal, scopes, session.id, session.expiresAt);
        const reason = 'refresh token';
        await call.note({ action: 'token.refresh', outcome: 'success', principal: { ...principal, scopes }, reason });
        return grantOf({ ...tokens, refreshToken: next.token });
      } catch (error) {
        // The old token is used up and the new one is not returned, so the session is unusable.
        await issuing.end(session.id).catch(() => undefined);
        throw error;
      }
    },

    /** Returns the principal of a refresh token, or `undefined` if it is unknown. */
    async holder(token: string): Promise<Principal | undefined> {
      return (await find(token))?.principal;
    },

    /** Returns the principal of a refresh token that would be accepted now, else `undefined`. Does not use the token. */
    async usable(token: string): Promise<Principal | undefined> {
      const found = await find(token);
      if (found === undefined || found.presented !== found.session.current) return undefined;
      return stillGranted(found);
    },
  };
}

function principalOf(session: TokenSession, data: SessionData): Principal {
  const { userId, clientId, tenantId, scopes, keyId, certificateThumbprint } = data;
  return {
    method: 'bearer',
    userId,
    ...(clientId !== undefined && { clientId }),
    ...(tenantId !== undefined && { tenantId }),
    scopes,
    sessionId: session.id,
    expiresAt: session.expiresAt,
    ...(keyId !== undefined && { keyId }),
    ...(certificateThumbprint !== undefined && { certificateThumbprint }),
  };
}
