import type { DiscoveredCategory, TenantSummary } from '../../protocol/messages.ts';

/** By category: the tenants for whom it is switched otherwise than for everybody. */
export type Differing = ReadonlyMap<string, readonly string[]>;

export function differingTenants(
  categories: ReadonlyMap<string, DiscoveredCategory>,
  tenants: readonly TenantSummary[],
): Differing {
  const settings = tenants.flatMap(({ id, categories: of }) =>
    Object.entries(of).map(([name, on]) => ({ id, name, on })),
  );
  const differing = settings.filter(({ name, on }) => (categories.get(name)?.enabled ?? on) !== on);
  return new Map([...Map.groupBy(differing, ({ name }) => name)].map(([name, of]) => [name, of.map(({ id }) => id)]));
}
