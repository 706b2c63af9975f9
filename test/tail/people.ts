import type { TestContext } from 'node:test';
import type { Principal } from '../../src/access/principal.ts';
import { startServer, type TestServerOptions } from '../support/server.ts';

/** A server whose keys a test makes, changes and takes away. */
export async function serverOf(t: TestContext, principals: Map<string, Principal>, options: TestServerOptions = {}) {
  const authenticate = async ({
    headers,
  }: {
    readonly headers: Readonly<Record<string, readonly string[] | undefined>>;
  }) => principals.get(headers['x-rdcp-api-key']?.[0] ?? '');
  return startServer(t, {
    ...options,
    wrap: (parts) => ({ ...options.wrap?.(parts), authenticator: { ...parts.authenticator, authenticate } }),
  });
}

export const principal = (userId: string, more: Partial<Principal> = {}): Principal => ({
  method: 'api-key',
  userId,
  clientId: userId,
  scopes: ['admin'],
  ...more,
});
