import type { DiscoveredCategory, TenantSummary } from '../../protocol/messages.ts';

/** By category: the tenants for whom it is switched otherwise than for everybody. */
export type Differing = ReadonlyMap<string, readonly string[]>;

export function differingTenants(
  categories: ReadonlyMap<string, DiscoveredCategory>,
  tenants: readonly TenantSummary[],
): Differing {
  const differing = new Map<string, string[]>();
  for (const tenant of tenants) {
    for (const [name, enabled] of Object.entries(tenant.categories)) {
      const everybody = categories.get(name);
      if (everybody === undefined || everybody.enabled === enabled) continue;
      const ids = differing.get(name);
      if (ids === undefined) differing.set(name, [tenant.id]);
      else ids.push(tenant.id);
    }
  }
  return differing;
}
