import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Principal } from '../../src/access/principal.ts';
import { type Address, createAddressing, type TenantHeaders } from '../../src/control/tenancy/address.ts';
import { createIsolation, type TenancyConfig } from '../../src/control/tenancy/isolation.ts';
import { parseConfig } from '../../src/options/config.ts';
import { ISOLATION_LEVELS, SCOPES } from '../../src/wire/constants.ts';
import { isRdcpError, type RdcpError } from '../../src/wire/errors.ts';
import fc from '../support/fast-check.ts';
import { LEVELS } from '../support/tenants.ts';

const isolationOf = (tenancy: unknown) => createIsolation(parseConfig({ tenancy }).tenancy as TenancyConfig);
const addressingOf = (tenancy: unknown) => createAddressing(isolationOf(tenancy));

const principal = (fields: Partial<Principal> = {}): Principal => ({
  method: 'api-key',
  userId: 'ann',
  scopes: ['admin'],
  ...fields,
});
const naming = (...tenantIds: string[]): TenantHeaders => ({ tenantIds, isolationLevel: undefined });

function outcome(resolve: () => Address): Address | RdcpError {
  try {
    return resolve();
  } catch (error) {
    if (isRdcpError(error)) return error;
    throw error;
  }
}

describe('whose settings a request addresses', () => {
  test('is global only for an administrator, where a change would reach separated tenants', () => {
    const operator = principal({ scopes: ['discovery', 'status', 'control'] });
    for (const level of ISOLATION_LEVELS) {
      for (const headers of [naming(), naming('global')]) {
        const found = outcome(() => addressingOf(LEVELS[level]).resolve(operator, headers, 'change'));
        const required = isRdcpError(found) ? found.details?.requiredScopes : undefined;
        assert.deepEqual(required, level === 'global' ? undefined : ['admin'], level);
      }
    }
  });

  test('never widens by a header: what is addressed is the credential’s tenant, or the credential may name any', () => {
    const identifiers = fc.oneof(
      fc.constantFrom('acme', 'Acme', 'beta', 'global', '*', '', 'a b', 'staging/acme', '__proto__', 'acme '),
      fc.string({ maxLength: 8 }),
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...ISOLATION_LEVELS),
        fc.option(identifiers, { nil: undefined }),
        fc.subarray([...SCOPES]),
        fc.array(identifiers, { maxLength: 2 }),
        fc.constantFrom('read' as const, 'change' as const),
        (level, tenantId, scopes, tenantIds, access) => {
          const who = principal({ scopes, ...(tenantId !== undefined && { tenantId }) });
          const found = outcome(() => addressingOf(LEVELS[level]).resolve(who, naming(...tenantIds), access));
          if (isRdcpError(found)) {
            assert.ok(['RDCP_FORBIDDEN', 'RDCP_MALFORMED_REQUEST'].includes(found.code));
            return;
          }
          if (tenantId !== undefined) assert.equal(found.tenantId, tenantId);
          if (tenantId === undefined && !scopes.includes('admin')) assert.equal(found.tenantId, undefined);
          assert.match(found.tenantId ?? 'none', /^[a-zA-Z0-9._-]{1,255}$/);
          assert.notEqual(found.tenantId, 'global');
          assert.deepEqual([...new Set(tenantIds)].length < 2, true);
          if (tenantIds[0] !== undefined) assert.equal(found.tenantId ?? 'global', tenantIds[0]);
        },
      ),
    );
  });

  test('is none for a credential whose tenant is named like the global one, or is no identifier', () => {
    const addressing = addressingOf(LEVELS.organization);
    for (const tenantId of ['global', '*', '', 'a/b', 'x'.repeat(256)]) {
      const who = principal({ tenantId });
      for (const headers of [naming(), naming(tenantId)]) {
        const found = outcome(() => addressing.resolve(who, headers, 'read'));
        assert.equal(isRdcpError(found) && found.details?.reason, 'tenant_mismatch', tenantId);
      }
      assert.equal(addressing.own(who).tenant, undefined);
    }
  });
});

describe('scopes in the store', () => {
  test('are in force for the tenants of this level alone', () => {
    const cases = ['acme', 'staging/acme', '*', '', 'a b'];
    const owners = (tenancy: unknown) => cases.map((key) => isolationOf(tenancy).tenantOf(key));
    const none = cases.map(() => undefined);
    const tenants = ['acme', undefined, undefined, undefined, undefined];
    assert.deepEqual(owners(false), none);
    assert.deepEqual(owners(LEVELS.global), none);
    assert.deepEqual(owners(LEVELS.process), tenants);
    assert.deepEqual(owners(LEVELS.namespace), tenants);
    assert.deepEqual(owners(LEVELS.organization), tenants);
  });
});

describe('the configuration of tenants', () => {
  const problem = (tenancy: unknown): string => {
    try {
      parseConfig({ tenancy });
      return 'none';
    } catch (error) {
      return (error as Error).message;
    }
  };

  test('names a namespace exactly where there is one', () => {
    assert.match(problem({ isolation: 'namespace' }), /tenancy\.namespace is required at isolation namespace/);
    assert.match(problem({ isolation: 'organization', namespace: 'a' }), /tenancy\.namespace is not allowed/);
    assert.match(problem({ isolation: 'namespace', namespace: 'a/b' }), /tenancy\.namespace must be/);
    assert.equal(problem(LEVELS.namespace), 'none');
  });

  test('has tenants that can be named, and none called like all of them', () => {
    assert.match(problem({ isolation: 'process', tenants: { 'a b': { name: 'A' } } }), /must be 1 to 255 of/);
    assert.match(problem({ isolation: 'process', tenants: { global: { name: 'A' } } }), /must not be global/);
    assert.match(problem({ isolation: 'process', tenants: { acme: { title: 'A' } } }), /title is not a known field/);
    assert.match(problem({ isolation: 'none' }), /tenancy\.isolation must be one of/);
    assert.match(problem(true), /tenancy/);
    assert.equal(problem({ isolation: 'process', tenants: { acme: { name: 'Acme' }, beta: {} } }), 'none');
  });

  test('takes the name of a baggage entry', () => {
    assert.equal(problem({ isolation: 'process', baggageKey: 'tenant.id' }), 'none');
    assert.match(
      problem({ isolation: 'process', baggageKey: 'tenant id' }),
      /baggageKey must be the name of a baggage/,
    );
  });
});
