import type { Scope } from '../../protocol/constants.ts';
import { loadJose } from '../jose.ts';
import type { TrustedIssuer } from '../jwt-issuer.ts';
import type { Principal } from '../principal.ts';
import { refusal } from '../refusal.ts';
import { boundToKey } from './key-bound.ts';
import type { Revocations } from './revocations.ts';
import type { SigningKeys } from './signing-keys.ts';

/** Our claims in addition to those of RFC 9068. */
const TENANT_CLAIM = 'tenant_id';
const KEY_CLAIM = 'otelrdcp_key';

export interface OwnIssuerOptions {
  readonly issuer: string;
  readonly audience: string | readonly string[];
  readonly keys: SigningKeys;
  readonly revocations: Pick<Revocations, 'isRevoked'>;
  /** Returns the principal of an API key record while the key is valid. */
  readonly keyOf: (keyId: string) => Principal | undefined;
}

/**
 * Returns this server as a trusted issuer. In addition to the usual checks, the session must not be revoked, and the token
 * is limited to what its API key allows now.
 */
export function ownIssuer({ issuer, audience, keys, revocations, keyOf }: OwnIssuerOptions): TrustedIssuer {
  const unlessRevoked = (principal: Principal, revoked: boolean): Principal => {
    if (revoked) throw refusal('bearer');
    return principal;
  };
  return {
    issuer,
    audience: [audience].flat(),
    algorithms: [...keys.algorithms],
    scopeClaims: ['scope'],
    tenantClaim: TENANT_CLAIM,
    keyClaim: KEY_CLAIM,
    key: (header) => keys.verification(header),
    admit: (principal) => {
      const { sessionId } = principal;
      const allowed = boundToKey(principal, keyOf);
      if (sessionId === undefined || allowed === undefined) throw refusal('bearer');
      const revoked = revocations.isRevoked(sessionId);
      return revoked instanceof Promise
        ? revoked.then((it) => unlessRevoked(allowed, it))
        : unlessRevoked(allowed, revoked);
    },
  };
}

export interface AccessTokenContent {
  readonly principal: Omit<Principal, 'method' | 'scopes'>;
  readonly scopes: readonly Scope[];
  readonly sessionId: string;
  /** Milliseconds since the epoch. */
  readonly issuedAt: number;
  readonly expiresAt: number;
}

/** Signs an access token (RFC 9068). */
export async function signAccessToken(
  { issuer, audience, keys }: Pick<OwnIssuerOptions, 'issuer' | 'audience' | 'keys'>,
  { principal, scopes, sessionId, issuedAt, expiresAt }: AccessTokenContent,
  jti: string,
): Promise<string> {
  const { userId, clientId, tenantId, keyId, certificateThumbprint } = principal;
  const { SignJWT } = await loadJose();
  const { key, header } = keys.current();
  return new SignJWT({
    iss: issuer,
    aud: typeof audience === 'string' ? audience : [...audience],
    sub: userId,
    ...(clientId !== undefined && { client_id: clientId }),
    ...(tenantId !== undefined && { [TENANT_CLAIM]: tenantId }),
    scope: scopes.join(' '),
    sid: sessionId,
    jti,
    iat: Math.floor(issuedAt / 1000),
    exp: Math.floor(expiresAt / 1000),
    ...(keyId !== undefined && { [KEY_CLAIM]: keyId }),
    ...(certificateThumbprint !== undefined && { cnf: { 'x5t#S256': certificateThumbprint } }),
  })
    .setProtectedHeader({ ...header, typ: 'at+jwt' })
    .sign(key);
}
