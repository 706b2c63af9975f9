import type { FleetMember, TenantSummary } from '../../../wire/messages.ts';
import { patternMatcher } from '../../../wire/names.ts';

// The searches of the lists.

/** Whether each word of a search is in a text. */
export function matchesWords(text: string, search: string): boolean {
  const words = search.toLowerCase().split(/\s+/);
  return words.every((word) => text.toLowerCase().includes(word));
}

/** Versions of the service that processes name, the most common one first. */
export function versionsOf(members: readonly FleetMember[]): readonly (readonly [version: string, count: number])[] {
  return [...Map.groupBy(members, ({ version }) => version)]
    .flatMap(([version, { length }]) => (version === undefined ? [] : [[version, length] as const]))
    .sort(([, a], [, b]) => b - a);
}

/** Processes that a search finds, in host, process id, id, service or version; the ones that are behind first. */
export function foundIn(members: readonly FleetMember[], search: string): readonly FleetMember[] {
  return members
    .filter(({ host, pid, id, service, version = '' }) =>
      matchesWords(`${host} ${host}:${pid} ${id} ${service} ${version}`, search),
    )
    .toSorted((a, b) => Number(b.pending) - Number(a.pending));
}

/** How many revisions a process lacks. */
export function behind({ applied }: FleetMember, revision: number): string {
  return applied === undefined ? 'has applied none' : `behind by ${Math.max(0, revision - applied)}`;
}

/** Categories that are on for a tenant. */
export function namesOn({ categories }: Pick<TenantSummary, 'categories'>): readonly string[] {
  return Object.keys(categories).filter((name) => categories[name] === true);
}

/** Tenants by id, name or a category that is on. */
export function foundTenants(tenants: readonly TenantSummary[], search: string): readonly TenantSummary[] {
  return tenants.filter((tenant) => matchesWords([tenant.id, tenant.name, ...namesOn(tenant)].join(' '), search));
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
