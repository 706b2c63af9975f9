import type { Principal } from '../../access/principal.ts';
import type { ControlPlane } from '../../control/plane.ts';
import type { ResolvedConfig } from '../../options/config.ts';
import type { CallCounts } from '../../wire/call-counts.ts';
import { EVERYBODY } from '../../wire/constants.ts';
import type { TenantSummary, TenantsResponse } from '../../wire/messages.ts';
import { isIdentifier, matchesAny } from '../../wire/names.ts';
import { timestamp } from '../../wire/time.ts';
import type { RouteParts } from '../parts.ts';
import { type Handler, opening, required } from '../steps.ts';

/** Most states, one per category and tenant, in an answer: about 5 MB. More would block the service for seconds. */
const MAX_STATES = 250_000;

/**
 * `GET /rdcp/v1/tenants`: the configured tenants, those with settings of their own, and those that the application has worked
 * for in this process. A tenant's caller sees only its own. Without multi-tenancy there is a single one for all.
 */
export function tenants({ config, plane, fleet, namedTenants, isolation, clock }: RouteParts): Handler {
  const configured = config.tenancy === false ? {} : config.tenancy.tenants;

  function summary(tenantId: string | undefined): TenantSummary {
    const scope = isolation.scopeOf(tenantId);
    const changedAt = plane.changedAt(scope);
    const {
      id,
      isolationLevel,
      scope: reach,
    } = isolation.contextOf(tenantId) ?? ({ id: EVERYBODY, isolationLevel: 'global', scope: 'global' } as const);
    const everybody = plane.view(isolation.scopeOf(undefined));
    const view = plane.view(scope);
    const off = view.filter(({ enabled }, at) => !enabled && everybody[at]?.enabled === true);
    const name = Object.hasOwn(configured, id) ? configured[id]?.name : undefined;
    return {
      id,
      ...(name !== undefined && { name }),
      isolationLevel,
      scope: reach,
      categories: Object.fromEntries(view.map(({ name, enabled }) => [name, plane.enabled && enabled])),
      ...(off.length > 0 && { otelrdcp_off: off.map(({ name }) => name) }),
      temporaryControls: plane.temporaryControls(scope),
      ...(changedAt !== undefined && { lastChangedAt: timestamp(changedAt) }),
    };
  }

  // The application may pass anything to `runWithTenant`.
  const served = () => [...namedTenants].filter((id) => isIdentifier(id) && id !== EVERYBODY);

  return async (ctx) => {
    await fleet?.refresh();
    const { tenantId, scope, tenants } = required(ctx, 'tenancy');
    const known =
      isolation.level === undefined ? [undefined] : [...new Set([...knownTenants(config, plane), ...served()])].sort();
    const own = tenants === undefined ? known : known.filter((id) => id !== undefined && matchesAny(tenants, id));
    const addressed = tenantId === undefined ? own : [tenantId];
    const room = Math.max(1, Math.floor(MAX_STATES / Math.max(1, plane.view(scope).length)));
    const body: TenantsResponse = {
      ...opening(ctx, clock),
      tenants: addressed.slice(0, room).map(summary),
      ...(addressed.length > room && { otelrdcp_total: addressed.length }),
    };
    return { body };
  };
}

function knownTenants(config: ResolvedConfig, plane: Pick<ControlPlane, 'scopes'>): Set<string> {
  const configured = config.tenancy === false ? {} : config.tenancy.tenants;
  return new Set([...Object.keys(configured), ...plane.scopes()]);
}

/** What a credential may know of the calls of others. */
export function countsFor({ tenantId, tenants }: Principal, { otherTenants, ...counts }: CallCounts): CallCounts {
  return tenantId === undefined && tenants === undefined && otherTenants ? { ...counts, otherTenants } : counts;
}

/**
 * Warns an operator who may have misspelt the tenant that a request names: it is neither configured, nor has settings, nor has
 * the application worked for it in this process. Credentials of a tenant learn nothing of others.
 */
export function tenantKnown(
  principal: Principal,
  tenantId: string,
  { config, plane, hasNamed }: RouteParts,
): { readonly tenantKnown?: false } {
  if (principal.tenantId !== undefined || config.tenancy === false) return {};
  const known = knownTenants(config, plane);
  if (known.has(tenantId) || hasNamed(tenantId)) return {};
  // Tenants in baggage are read only where something depends on them.
  return config.tenancy.baggageKey === undefined || known.size > 0 ? { tenantKnown: false } : {};
}
