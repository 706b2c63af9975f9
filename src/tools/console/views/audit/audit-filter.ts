import type { AuditFilter } from '../../../../client.ts';
import type { AuditEntry } from '../../../../wire/audit-messages.ts';

const NAMES = ['category', 'action', 'outcome', 'since', 'until', 'who', 'text'] as const;

/**
 * The search, as it stands in the address. `since` and `until` are in the browser's zone, as
 * `datetime-local` has them: `2026-01-31T12:30`. `who` is a part of the user or the client, `text` of anything.
 */
export type AuditSearch = Partial<Readonly<Record<(typeof NAMES)[number], string>>>;

/** Reads the search from an address, without empty values and invalid times. */
export function wantedOf(query: URLSearchParams): AuditSearch {
  const given = NAMES.map((name) => [name, query.get(name)?.trim() ?? ''] as const);
  return Object.fromEntries(
    given.filter(([name, value]) => value !== '' && (!/since|until/.test(name) || !Number.isNaN(Date.parse(value)))),
  );
}

/** The part that the server filters by; it says what it cannot. */
export function serverFilter({ who: _, text: __, since, until, category, ...rest }: AuditSearch): AuditFilter {
  return {
    ...(rest as AuditFilter),
    ...(category && { category: category.toUpperCase() }),
    ...(since && { since: new Date(since) }),
    ...(until && { until: new Date(until) }),
  };
}

/** Whether an entry passes what the server does not filter by. */
export function isWanted({ who = '', text = '' }: AuditSearch): (entry: AuditEntry) => boolean {
  return (entry) =>
    `${entry.identity.userId} ${entry.identity.clientId}`.toLowerCase().includes(who.toLowerCase()) &&
    JSON.stringify(entry).toLowerCase().includes(text.toLowerCase());
}
