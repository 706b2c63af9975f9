import { assertScope, hasScope, type Principal } from '../../access/principal.ts';
import { EVERYBODY, HEADERS } from '../../wire/constants.ts';
import type { RdcpError } from '../../wire/errors.ts';
import type { TenantContext } from '../../wire/messages.ts';
import { isIdentifier, matchesAny } from '../../wire/names.ts';
import { REFUSALS } from '../../wire/refusals.ts';
import type { Scope } from '../types.ts';
import type { Isolation } from './isolation.ts';

export interface Address {
  readonly scope: Scope;
  /** Absent if the request addresses all tenants. */
  readonly tenantId?: string;
  /** Included in the response. Absent without multi-tenancy. */
  readonly tenant?: TenantContext;
  /** The tenants of a request that names none, as ids and prefixes with `*`. It reads what is of these, and what they inherit. */
  readonly tenants?: readonly string[];
  /** Restricts call counts to these tenants. Absent: counts of the whole process. */
  readonly callsOf?: readonly string[];
}

/** The tenant headers of a request. They can narrow what the credential allows, never widen it. */
export interface TenantHeaders {
  readonly tenantIds: readonly string[];
  readonly isolationLevel: string | undefined;
}

/**
 * A tap shows the calls of tenants; `tail` is one that can be of several. `process` is about the process or the caller, and needs
 * no tenant.
 */
export type Access = 'read' | 'change' | 'tap' | 'tail' | 'process';

const OPERATIONS = {
  change: 'To change what all tenants inherit',
  tap: 'To see the calls of all tenants',
  tail: 'To see the calls of all tenants',
} as const;

/** A tenant that cannot be: it has what all tenants inherit, and nothing of its own. */
const NO_TENANT = '*';

export type Addressing = ReturnType<typeof createAddressing>;

/**
 * Maps a principal and its headers to an address. There is no lookup: neither the response nor its timing reveals whether a
 * tenant exists.
 * @param named the tenants that this process has worked for
 */
export function createAddressing(isolation: Isolation, named: Iterable<string> = []) {
  const { level } = isolation;
  const everybody = addressOf(undefined);

  function addressOf(tenantId: string | undefined): Address {
    const tenant = isolation.contextOf(tenantId);
    return {
      scope: isolation.scopeOf(tenantId),
      ...(tenant !== undefined && { tenant }),
      ...(tenantId !== undefined && { tenantId }),
      ...(tenantId !== undefined && isolation.separatesMetrics && { callsOf: [tenantId] }),
    };
  }

  /** Several tenants. A list with `*` has the calls of the process, as a reader without tenants does. */
  function addressOfSome(tenants: readonly string[]): Address {
    const isCounted = isolation.separatesMetrics && !tenants.includes('*');
    return {
      ...everybody,
      scope: isolation.scopeOf(NO_TENANT),
      tenants,
      ...(isCounted && { callsOf: [...named].filter((id) => matchesAny(tenants, id)) }),
    };
  }

  /** The response to an anonymous request names no tenant. */
  const anonymous: Address = { scope: everybody.scope };

  function own(principal: Principal | undefined): Address {
    if (principal === undefined || !hasValidTenant(principal)) return anonymous;
    if (principal.tenantId === undefined) return everybody;
    return level === undefined ? anonymous : addressOf(principal.tenantId);
  }

  function assertLevel(stated: string | undefined): void {
    if (stated === undefined || stated === level) return;
    throw REFUSALS.malformed(HEADERS.isolationLevel, `must be ${level}, the configured isolation level`);
  }

  return {
    own,
    /**
     * @param access without multi-tenancy a read ignores tenant headers, and a change or a tap refuses them: what was meant for one
     * tenant must not apply to all
     * @throws {RdcpError} `RDCP_FORBIDDEN` with `details.reason` `tenant_mismatch` for a tenant that the credential does not
     * allow, and without multi-tenancy for every credential of a tenant; with `insufficient_scopes` for a change for all tenants
     * without `admin`, where tenants have their own settings; `RDCP_MALFORMED_REQUEST` for a wrong isolation level
     */
    resolve(principal: Principal | undefined, { tenantIds, isolationLevel }: TenantHeaders, access: Access): Address {
      if (level === undefined) {
        // A credential of one tenant must not read or switch the settings of all.
        if (principal?.tenantId !== undefined || principal?.tenants !== undefined) {
          throw mismatch(principal, [], 'The credential belongs to a tenant, but this server has no tenants');
        }
        const guarded = isGuarded(access);
        if (guarded && tenantIds.length > 0) throw withoutTenants(HEADERS.tenantId);
        if (guarded && isolationLevel !== undefined) throw withoutTenants(HEADERS.isolationLevel);
        return everybody;
      }
      if (principal === undefined) return anonymous;
      const tenantId = addressedTenant(principal, tenantIds, access);
      assertLevel(isolationLevel);
      // RDCP 1.0, Authentication, rule 7: a change for all tenants needs more than a change for one.
      const { tenants } = principal;
      if (tenantId === undefined && tenants !== undefined && access !== 'process') return addressOfSome(tenants);
      if (isGuarded(access) && tenantId === undefined && level !== 'global') {
        assertScope(principal, ['admin'], OPERATIONS[access]);
      }
      return tenantId === principal.tenantId ? own(principal) : addressOf(tenantId);
    },
  };
}

function isGuarded(access: Access): access is keyof typeof OPERATIONS {
  return Object.hasOwn(OPERATIONS, access);
}

/** A malformed tenant id must not count as no tenant, which would allow more. */
function hasValidTenant({ tenantId }: Principal): boolean {
  return tenantId === undefined || (isIdentifier(tenantId) && tenantId !== EVERYBODY);
}

/** The tenant that a request addresses; `undefined` for all tenants. */
function addressedTenant(principal: Principal, named: readonly string[], access: Access): string | undefined {
  const { tenantId, tenants } = principal;
  if (!hasValidTenant(principal)) throw mismatch(principal, []);
  const [id = EVERYBODY] = named;
  if (tenants !== undefined && id === EVERYBODY && named.length < 2) {
    if (access !== 'change' && access !== 'tap') return undefined;
    throw REFUSALS.malformed(
      HEADERS.tenantId,
      `is required: name one of the tenants of this credential (${tenants.join(', ')})`,
    );
  }
  if (named.length === 0) return tenantId;
  if (tenantId !== undefined) {
    if (named.length === 1 && id === tenantId) return tenantId;
    throw mismatch(principal, []);
  }
  // Responses to an operator without a tenant have this id; clients may send it back.
  if (named.length === 1 && id === EVERYBODY) return undefined;
  if (tenants === undefined ? !hasScope(principal, 'admin') : !matchesAny(tenants, id)) {
    throw mismatch(principal, tenants === undefined ? ['admin'] : []);
  }
  if (named.length > 1) throw REFUSALS.malformed(HEADERS.tenantId, 'was sent more than once');
  if (!isIdentifier(id)) throw REFUSALS.malformed(HEADERS.tenantId, 'must be 1 to 255 characters of a-z A-Z 0-9 . _ -');
  return id;
}

/** @param requiredScopes scopes that would have allowed the request */
function mismatch(
  { method, scopes }: Principal,
  requiredScopes: readonly string[],
  message = 'The credential is not valid for this tenant',
): RdcpError {
  return REFUSALS.tenantMismatch(method, message, { requiredScopes, providedScopes: scopes });
}

function withoutTenants(field: string): RdcpError {
  return REFUSALS.malformed(field, 'is not allowed: this server has no tenants');
}
