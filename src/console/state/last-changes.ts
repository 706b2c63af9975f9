import type { AuditEntry } from '../../protocol/messages.ts';

/** Who switched a category last, and why. */
export interface LastChange {
  readonly action: AuditEntry['action'];
  readonly by: string;
  readonly reason?: string | undefined;
  readonly at: string;
}

/** By scope and category. */
export type LastChanges = ReadonlyMap<string, LastChange>;

/** @param tenant `undefined` for everybody */
export function changeKey(tenant: string | undefined, category: string): string {
  return `${tenant ?? ''} ${category}`;
}

const SWITCHES: ReadonlySet<string> = new Set(['enable', 'disable', 'toggle', 'reset']);

/** Adds entries of the audit trail, in any order. */
export function withEntries(known: LastChanges, entries: readonly AuditEntry[]): LastChanges {
  const changes = new Map(known);
  for (const { action, outcome, timestamp, categories, identity, reason, tenant } of entries) {
    if (!SWITCHES.has(action) || (outcome !== 'success' && outcome !== 'partial')) continue;
    const by = identity.userId ?? identity.clientId ?? 'unknown';
    const change: LastChange = { action, by, at: timestamp, ...(reason !== undefined && { reason }) };
    for (const category of categories) {
      const key = changeKey(tenant?.id, category);
      const before = changes.get(key);
      if (before === undefined || before.at <= timestamp) changes.set(key, change);
    }
  }
  return changes;
}
