import { commonScopes, type Principal } from '../principal.ts';

/**
 * Limits a token to what its API key allows now: same user and tenant, and no scope beyond the key's. Returns tokens without
 * a key unchanged.
 * @param keyOf returns the principal of a key record while the key is valid
 * @returns `undefined` if the key is no longer valid, or belongs to another user or tenant
 */
export function boundToKey(token: Principal, keyOf: (id: string) => Principal | undefined): Principal | undefined {
  if (token.keyId === undefined) return token;
  const key = keyOf(token.keyId);
  if (key === undefined || key.tenantId !== token.tenantId || key.userId !== token.userId) return undefined;
  const scopes = commonScopes(token, key);
  const allows = token.scopes.every((scope) => scopes.includes(scope));
  return allows ? token : { ...token, scopes };
}
