import type { ActiveToken } from '../../protocol/oauth-messages.ts';
import { loadJose } from '../jose.ts';
import { hasScope, type Principal } from '../principal.ts';

/** Describes a valid access token of this server (RFC 7662, section 2.2). */
export async function describeAccessToken(token: string, holder: Principal, issuer: string): Promise<ActiveToken> {
  const { decodeJwt } = await loadJose();
  const { aud = [], iat, jti } = decodeJwt(token);
  return {
    ...facts(holder, issuer),
    token_type: 'Bearer',
    token_use: 'access_token',
    aud,
    ...(iat !== undefined && { iat }),
    ...(jti !== undefined && { jti }),
  };
}

/** Describes a refresh token that can be used. Its audience is this server, so that resource servers refuse it. */
export function describeRefreshToken(session: Principal, issuer: string): ActiveToken {
  return { ...facts(session, issuer), token_type: 'N_A', token_use: 'refresh_token', aud: issuer };
}

function facts(principal: Principal, issuer: string) {
  const {
    userId,
    clientId,
    tenantId,
    tenants,
    scopes,
    allow,
    approval,
    sessionId = '',
    expiresAt = 0,
    certificateThumbprint,
  } = principal;
  return {
    active: true,
    scope: scopes.join(' '),
    ...(clientId !== undefined && { client_id: clientId }),
    sub: userId,
    iss: issuer,
    exp: Math.floor(expiresAt / 1000),
    sid: sessionId,
    ...(tenantId !== undefined && { tenant_id: tenantId }),
    ...(tenants !== undefined && { otelrdcp_tenants: tenants }),
    ...(allow !== undefined && { otelrdcp_allow: allow, ...(approval === true && { otelrdcp_approval: approval }) }),
    ...(certificateThumbprint !== undefined && { cnf: { 'x5t#S256': certificateThumbprint } }),
  } as const;
}

/**
 * Whether a client may see a token: its own; with `admin` those of its tenant; with `admin` and without a tenant all.
 * Others appear as inactive.
 */
export function isShown(holder: Principal, client: Principal): boolean {
  const admin = hasScope(client, 'admin') && client.tenants === undefined;
  if (admin && client.tenantId === undefined) return true;
  return holder.tenantId === client.tenantId && (admin || holder.clientId === client.clientId);
}
