import { commonScopes, type Principal } from '../principal.ts';

/**
 * A token as far as the API key that it was issued for still allows it: user and tenant must be the key's, and no scope goes
 * beyond the key's. A token of no key stays what it is.
 * @param keyOf who the key of a record is, while it is in force
 * @returns `undefined` once the key has ended, or is somebody else's
 */
export function boundToKey(token: Principal, keyOf: (id: string) => Principal | undefined): Principal | undefined {
  if (token.keyId === undefined) return token;
  const key = keyOf(token.keyId);
  if (key === undefined || key.tenantId !== token.tenantId || key.userId !== token.userId) return undefined;
  const scopes = commonScopes(token, key);
  const allows = token.scopes.every((scope) => scopes.includes(scope));
  return allows ? token : { ...token, scopes };
}
