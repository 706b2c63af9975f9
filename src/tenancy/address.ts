import { assertScope, hasScope, type Principal } from '../auth/principal.ts';
import type { Scope } from '../control/types.ts';
import { RdcpError } from '../errors.ts';
import { EVERYBODY, HEADERS } from '../protocol/constants.ts';
import type { TenantContext } from '../protocol/messages.ts';
import { isIdentifier } from '../protocol/names.ts';
import type { Isolation } from './isolation.ts';

/** Whose settings, entries and calls a request is about. */
export interface Address {
  readonly scope: Scope;
  /** Absent when all tenants are addressed at once. */
  readonly tenantId?: string;
  /** In multi-tenant mode: stands in the answer. */
  readonly tenant?: TenantContext;
  /** The tenant whose calls alone may be shown; absent where those of the whole process are. */
  readonly callsOf?: string;
}

/** What a request says about tenants beside its credential. It can narrow what the credential allows, never widen it. */
export interface TenantHeaders {
  /** Every value of `X-RDCP-Tenant-ID`. */
  readonly tenantIds: readonly string[];
  readonly isolationLevel: string | undefined;
}

/**
 * From a principal to what it addresses. Nothing is looked up: a tenant that exists and one that does not are told from
 * each other by neither the answer nor the time that it takes.
 */
export interface Addressing {
  /** By the credential alone. A request without one, where it is let through, gets to see nothing of any tenant. */
  own(principal: Principal | undefined): Address;
  /**
   * @param access what is ignored on a read is refused on a change, where there are no tenants: to apply to everybody what
   * was meant for one is the one wrong outcome
   * @throws {RdcpError} `RDCP_FORBIDDEN` with `details.reason` `tenant_mismatch` for a tenant that the credential does not
   * speak for, and for any credential of a tenant where there are none; or `insufficient_scopes` for a change for all tenants at once without `admin` where they are kept apart;
   * `RDCP_MALFORMED_REQUEST` for an isolation level that is not in force
   */
  resolve(principal: Principal | undefined, headers: TenantHeaders, access: 'read' | 'change'): Address;
}

export function createAddressing(isolation: Isolation): Addressing {
  const { level } = isolation;
  const everybody = addressOf(undefined);

  function addressOf(tenantId: string | undefined): Address {
    const tenant = isolation.contextOf(tenantId);
    return {
      scope: isolation.scopeOf(tenantId),
      ...(tenant !== undefined && { tenant }),
      ...(tenantId !== undefined && { tenantId }),
      ...(tenantId !== undefined && isolation.separatesMetrics && { callsOf: tenantId }),
    };
  }

  /** The answer to an anonymous request has no tenant: there is no identity to have one. */
  const anonymous: Address = { scope: everybody.scope };

  function own(principal: Principal | undefined): Address {
    if (principal === undefined || !speaksForTenants(principal)) return anonymous;
    if (principal.tenantId === undefined) return everybody;
    return level === undefined ? anonymous : addressOf(principal.tenantId);
  }

  function assertLevel(stated: string | undefined): void {
    if (stated === undefined || stated === level) return;
    throw malformed(HEADERS.isolationLevel, `is not the isolation level in force, which is ${level}`);
  }

  return {
    own,
    resolve(principal, { tenantIds, isolationLevel }, access) {
      if (level === undefined) {
        // What a tenant may see and switch is not everybody's.
        if (principal?.tenantId !== undefined) {
          throw mismatch(principal, [], 'The credential belongs to a tenant, and this server has none');
        }
        if (access === 'change' && tenantIds.length > 0) throw withoutTenants(HEADERS.tenantId);
        if (access === 'change' && isolationLevel !== undefined) throw withoutTenants(HEADERS.isolationLevel);
        return everybody;
      }
      if (principal === undefined) return anonymous;
      const tenantId = addressedTenant(principal, tenantIds);
      assertLevel(isolationLevel);
      // RDCP 1.0, Authentication, rule 7: what is done to every tenant needs more than what is done to one.
      if (access === 'change' && tenantId === undefined && level !== 'global') {
        assertScope(principal, ['admin'], 'To change what all tenants inherit');
      }
      return tenantId === principal.tenantId ? own(principal) : addressOf(tenantId);
    },
  };
}

/** A credential whose tenant is none must not become one without a tenant, which sees more. */
function speaksForTenants({ tenantId }: Principal): boolean {
  return tenantId === undefined || (isIdentifier(tenantId) && tenantId !== EVERYBODY);
}

/** The tenant that a request is about; `undefined` for all of them. */
function addressedTenant(principal: Principal, named: readonly string[]): string | undefined {
  const { tenantId } = principal;
  if (!speaksForTenants(principal)) throw mismatch(principal, []);
  if (named.length === 0) return tenantId;
  const [id = ''] = named;
  if (tenantId !== undefined) {
    if (named.length === 1 && id === tenantId) return tenantId;
    throw mismatch(principal, []);
  }
  // What answers call the address of such an operator, sent back.
  if (named.length === 1 && id === EVERYBODY) return undefined;
  if (!hasScope(principal, 'admin')) throw mismatch(principal, ['admin']);
  if (named.length > 1) throw malformed(HEADERS.tenantId, 'was sent more than once');
  if (!isIdentifier(id)) throw malformed(HEADERS.tenantId, 'must be 1 to 255 of a-z A-Z 0-9 . _ -');
  return id;
}

/** @param requiredScopes what would have made a difference */
function mismatch(
  { method, scopes }: Principal,
  requiredScopes: readonly string[],
  message = 'The credential does not speak for that tenant',
): RdcpError {
  return new RdcpError('RDCP_FORBIDDEN', message, {
    method,
    details: { reason: 'tenant_mismatch', requiredScopes, providedScopes: scopes },
  });
}

function malformed(field: string, problem: string): RdcpError {
  return new RdcpError('RDCP_MALFORMED_REQUEST', `${field} ${problem}`, { details: { field } });
}

function withoutTenants(field: string): RdcpError {
  return malformed(field, 'is not allowed: this server has no tenants');
}
