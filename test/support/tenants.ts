import { randomBytes } from 'node:crypto';
import type { TestContext } from 'node:test';
import { generateApiKey, hashApiKey } from '../../src/access/api-key.ts';
import { createApiKeyVerifier, fixedKeys } from '../../src/access/api-keys.ts';
import { createAuthenticator } from '../../src/access/authenticator.ts';
import { createJwtVerifier } from '../../src/access/jwt.ts';
import type { RdcpConfig } from '../../src/options/options.ts';
import type { Scope } from '../../src/wire/constants.ts';
import { systemClock } from '../../src/wire/time/clock.ts';
import { AUDIENCE, ISSUER, SECRET, secretBytes, sign } from '../auth/tokens.ts';
import { startServer, type TestServer, type TestServerOptions } from './server.ts';

/** Who asks, in a test with tenants. */
export interface Person {
  readonly scopes: readonly Scope[];
  readonly tenantId?: string;
  /** Names and prefixes of tenants that it may name. */
  readonly tenants?: readonly string[];
  /** @default 'api-key' */
  readonly method?: 'api-key' | 'bearer';
}

/** Some who most tests need: two tenants' administrators, operators with and without a tenant. */
export const PEOPLE = {
  acme: { scopes: ['admin'], tenantId: 'acme' },
  beta: { scopes: ['admin'], tenantId: 'beta' },
  acmeOperator: { scopes: ['discovery', 'status', 'control'], tenantId: 'acme' },
  operator: { scopes: ['discovery', 'status', 'control'] },
  viewer: { scopes: ['discovery', 'status'] },
  admin: { scopes: ['admin'] },
} as const satisfies Readonly<Record<string, Person>>;

type Headers = Readonly<Record<string, string>>;

/** An authenticator that knows these people, and the headers by which each of them is known. */
export async function credentialsOf<Name extends string>(people: Readonly<Record<Name, Person>>) {
  const records = [];
  const headers = {} as Record<Name, Headers>;
  for (const name of Object.keys(people) as Name[]) {
    const { scopes, tenantId, tenants, method = 'api-key' } = people[name];
    if (method === 'bearer') {
      const claims = { iss: ISSUER, aud: AUDIENCE, sub: name, exp: Math.ceil(Date.now() / 1000) + 3600 };
      const token = await sign(
        secretBytes(),
        { alg: 'HS256', typ: 'at+jwt' },
        {
          ...claims,
          scope: scopes.join(' '),
          ...(tenantId !== undefined && { tenant_id: tenantId }),
          ...(tenants && { otelrdcp_tenants: tenants }),
        },
      );
      headers[name] = { Authorization: `Bearer ${token}` };
      continue;
    }
    const key = generateApiKey({ env: 'test', randomBytes });
    headers[name] = { 'X-RDCP-API-Key': key };
    records.push({
      id: name,
      hash: hashApiKey(key),
      clientId: `${name}-client`,
      scopes: [...scopes],
      ...(tenantId !== undefined && { tenantId }),
      ...(tenants !== undefined && { tenants }),
    });
  }
  const issuers = [{ issuer: ISSUER, audience: AUDIENCE, algorithms: ['HS256' as const], secret: SECRET }];
  const authenticator = createAuthenticator({
    apiKey: createApiKeyVerifier({ keys: fixedKeys(records), clock: systemClock }),
    bearer: createJwtVerifier({ issuers, clock: systemClock }),
  });
  return { authenticator, headers };
}

export interface TenantServer<Name extends string> extends TestServer {
  /** The headers of somebody's credential, with others beside it. */
  as(name: Name, headers?: Headers): { readonly headers: Headers };
}

/** A server with tenants, and people who know each other. */
export async function startTenantServer(
  t: TestContext,
  tenancy: RdcpConfig['tenancy'],
  options: TestServerOptions = {},
): Promise<TenantServer<keyof typeof PEOPLE>> {
  const { authenticator, headers } = await credentialsOf(PEOPLE);
  const server = await startServer(t, {
    ...options,
    config: { ...options.config, ...(tenancy !== undefined && { tenancy }) },
    wrap: (parts) => ({ authenticator, ...options.wrap?.(parts) }),
  });
  return { ...server, as: (name, more) => ({ headers: { ...headers[name], ...more } }) };
}

/** The configuration of each isolation level. */
export const LEVELS = {
  global: { isolation: 'global' },
  process: { isolation: 'process' },
  namespace: { isolation: 'namespace', namespace: 'staging' },
  organization: { isolation: 'organization' },
} as const;
