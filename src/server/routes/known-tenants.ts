import type { Principal } from '../../auth/principal.ts';
import type { ResolvedConfig } from '../../config.ts';
import type { ControlPlane } from '../../control/types.ts';

export interface TenantSources {
  readonly config: Pick<ResolvedConfig, 'tenancy'>;
  readonly plane: Pick<ControlPlane, 'scopes'>;
  /** Whether the application has worked for a tenant in this process. @default not known */
  readonly hasNamed?: ((tenantId: string) => boolean) | undefined;
}

/** The configured tenants and those with settings of their own. */
export function knownTenants({ config, plane }: TenantSources): Set<string> {
  const configured = config.tenancy === false ? {} : config.tenancy.tenants;
  return new Set([...Object.keys(configured), ...plane.scopes()]);
}

/**
 * Tells an operator who may have misspelt the tenant that a request names: it is neither configured, nor has settings, nor has
 * the application worked for it in this process. Credentials of a tenant learn nothing of others.
 */
export function tenantKnown(
  principal: Principal,
  tenantId: string,
  sources: TenantSources,
): { readonly tenantKnown?: false } {
  const { config, hasNamed } = sources;
  if (principal.tenantId !== undefined || config.tenancy === false) return {};
  const known = knownTenants(sources);
  if (known.has(tenantId) || hasNamed?.(tenantId) === true) return {};
  // Tenants in baggage are read only where something depends on them.
  return config.tenancy.baggageKey === undefined || known.size > 0 ? { tenantKnown: false } : {};
}
