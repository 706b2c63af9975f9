import type { TenantSummary } from '../../../protocol/messages.ts';

/** Categories that are on for a tenant. */
export function namesOn({ categories }: Pick<TenantSummary, 'categories'>): readonly string[] {
  return Object.keys(categories).filter((name) => categories[name] === true);
}

/** Tenants by id, name or a category that is on. */
export function foundTenants(tenants: readonly TenantSummary[], search: string): readonly TenantSummary[] {
  const wanted = search.trim().toLowerCase();
  if (wanted === '') return tenants;
  return tenants.filter(
    (tenant) =>
      `${tenant.id}\n${tenant.name ?? ''}`.toLowerCase().includes(wanted) ||
      namesOn(tenant).some((name) => name.toLowerCase().includes(wanted)),
  );
}
