import type { Principal } from '../../auth/principal.ts';
import type { ResolvedConfig } from '../../config.ts';
import type { ControlPlane } from '../../control/types.ts';

export interface TenantSources {
  readonly config: Pick<ResolvedConfig, 'tenancy'>;
  readonly plane: Pick<ControlPlane, 'scopes'>;
}

/** The configured tenants and those with settings of their own. */
export function knownTenants({ config, plane }: TenantSources): Set<string> {
  const configured = config.tenancy === false ? {} : config.tenancy.tenants;
  return new Set([...Object.keys(configured), ...plane.scopes()]);
}

/** Tells an operator who may have misspelt a tenant. Credentials of a tenant learn nothing of others. */
export function tenantKnown(
  principal: Principal,
  tenantId: string | undefined,
  sources: TenantSources,
): { readonly tenantKnown?: false } {
  if (principal.tenantId !== undefined || tenantId === undefined) return {};
  const known = knownTenants(sources);
  return known.size > 0 && !known.has(tenantId) ? { tenantKnown: false } : {};
}
