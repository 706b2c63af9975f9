import type { Principal } from '../../auth/principal.ts';
import type { ResolvedConfig } from '../../config.ts';
import type { ControlPlane } from '../../control/types.ts';

export interface TenantSources {
  readonly config: Pick<ResolvedConfig, 'tenancy'>;
  readonly plane: Pick<ControlPlane, 'scopes'>;
}

/** The configured tenants and those with settings of their own, with the time of the last change. */
export function knownTenants({ config, plane }: TenantSources): Map<string, number | undefined> {
  const configured = config.tenancy === false ? {} : config.tenancy.tenants;
  const known = new Map<string, number | undefined>(Object.keys(configured).map((id) => [id, undefined]));
  for (const [key, { changedAt }] of plane.scopes()) known.set(key, changedAt);
  return known;
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
