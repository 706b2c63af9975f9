import type { FleetMember, TenantSummary } from '../../../wire/messages.ts';
import { patternMatcher } from '../../../wire/names.ts';

// The searches of the lists.

export interface FleetSummary {
  readonly total: number;
  readonly pending: number;
  /** Versions of the package or service, the most common one first. */
  readonly versions: readonly (readonly [version: string, count: number])[];
}

export function summaryOf(members: readonly FleetMember[]): FleetSummary {
  return {
    total: members.length,
    pending: members.filter(({ pending }) => pending).length,
    versions: [...Map.groupBy(members, ({ version = '—' }) => version)]
      .map(([version, { length }]) => [version, length] as const)
      .sort(([, a], [, b]) => b - a),
  };
}

/** Processes that a search finds, in host, process id, id, service or version; the ones that are behind first. */
export function foundIn(members: readonly FleetMember[], search: string): readonly FleetMember[] {
  const words = search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  const found = members.filter((member) => {
    const { host, pid, id, service, version = '' } = member;
    const text = `${host} ${host}:${pid} ${id} ${service} ${version}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  return found.toSorted((a, b) => Number(b.pending) - Number(a.pending));
}

/** How many revisions a process lacks; `undefined` where it has applied none. */
export function behind(member: FleetMember, revision: number): number | undefined {
  return member.applied === undefined ? undefined : Math.max(0, revision - member.applied);
}

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

/** Most names of a pattern: more do not fit into an address. */
const MAX_NAMES = 200;

/**
 * The names that a typed text stands for: `db_pool`, several with commas or spaces, or patterns such as `DB_*`.
 * @param completes whether a beginning stands for the first name that has it
 */
export function matching(known: readonly string[], typed: string, completes = false): readonly string[] {
  const names = typed
    .toUpperCase()
    .split(/[^\w*-]+/)
    .flatMap((word) => {
      if (word === '') return [];
      if (!word.includes('*')) return known.find((name) => completes && name.startsWith(word)) ?? word;
      return known.filter(patternMatcher(word));
    });
  return names.slice(0, MAX_NAMES);
}
