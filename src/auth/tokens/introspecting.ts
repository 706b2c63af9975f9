import type { ActiveToken, IntrospectionResponse } from '../../protocol/oauth-messages.ts';
import { loadJose } from '../jose.ts';
import { hasScope, type Principal } from '../principal.ts';

export interface IntrospectingOptions {
  readonly issuer: string;
  /** Returns the principal of a valid access token of this server, else `undefined`. */
  readonly accessTokenHolder: (token: string) => Promise<Principal | undefined>;
  /** Returns the principal of a refresh token that can be used now, else `undefined`. */
  readonly usableRefreshToken: (token: string) => Promise<Principal | undefined>;
}

const INACTIVE: IntrospectionResponse = { active: false };

/** Introspects tokens of this server (RFC 7662). */
export function createIntrospecting({ issuer, accessTokenHolder, usableRefreshToken }: IntrospectingOptions) {
  return async (token: string, client: Principal): Promise<IntrospectionResponse> => {
    const holder = await accessTokenHolder(token);
    if (holder !== undefined) return isShown(holder, client) ? accessToken(token, holder) : INACTIVE;
    const session = await usableRefreshToken(token);
    return session !== undefined && isShown(session, client) ? refreshToken(session) : INACTIVE;
  };

  async function accessToken(token: string, holder: Principal): Promise<ActiveToken> {
    const { decodeJwt } = await loadJose();
    const { aud = [], iat, jti } = decodeJwt(token);
    return {
      ...facts(holder),
      token_type: 'Bearer',
      token_use: 'access_token',
      aud,
      ...(iat !== undefined && { iat }),
      ...(jti !== undefined && { jti }),
    };
  }

  function refreshToken(session: Principal): ActiveToken {
    // Its audience is this server, so that resource servers refuse it.
    return { ...facts(session), token_type: 'N_A', token_use: 'refresh_token', aud: issuer };
  }

  function facts(principal: Principal) {
    const { userId, clientId, tenantId, scopes, sessionId = '', expiresAt = 0, certificateThumbprint } = principal;
    return {
      active: true,
      scope: scopes.join(' '),
      ...(clientId !== undefined && { client_id: clientId }),
      sub: userId,
      iss: issuer,
      exp: Math.floor(expiresAt / 1000),
      sid: sessionId,
      ...(tenantId !== undefined && { tenant_id: tenantId }),
      ...(certificateThumbprint !== undefined && { cnf: { 'x5t#S256': certificateThumbprint } }),
    } as const;
  }
}

/**
 * Whether a client may see a token: its own; with `admin` those of its tenant; with `admin` and without a tenant all.
 * Others appear as inactive.
 */
function isShown(holder: Principal, client: Principal): boolean {
  const admin = hasScope(client, 'admin');
  if (admin && client.tenantId === undefined) return true;
  return holder.tenantId === client.tenantId && (admin || holder.clientId === client.clientId);
}
