import type { AuditEntry } from '../protocol/audit-messages.ts';
import type { Commit, StateStore } from './state-store.ts';

/** Entries read, and written in one transaction. */
const AT_ONCE = 1000;

/**
 * Copies the state and the audit trail to the store that replaces a process's own. Existing scopes stay unchanged. Each
 * scope is written with one of its entries, since every change has one.
 */
export async function copyState(from: StateStore, to: StateStore, now: number): Promise<void> {
  const scopes = [...(await from.load())].filter(([, { settings }]) => settings.size > 0);
  const entries = await allEntries(from);
  const known = await to.load();
  const commits = entries.map((audit): Commit => {
    const [scope, state] = scopes.pop() ?? [];
    if (scope === undefined || state === undefined || known.has(scope)) return { audit, now };
    return { audit, now, state: { scope, expectedRevision: 0, settings: state.settings } };
  });
  for (let start = 0; start < commits.length; start += AT_ONCE) {
    const batch = commits.slice(start, start + AT_ONCE);
    if (to.commitAll !== undefined) await to.commitAll(batch);
    else for (const commit of batch) await to.commit(commit);
  }
}

/** Oldest first. */
async function allEntries(store: StateStore): Promise<readonly AuditEntry[]> {
  const entries: AuditEntry[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.queryAudit({ limit: AT_ONCE, ...(cursor !== undefined && { cursor }) });
    entries.push(...page.entries);
    cursor = page.next;
  } while (cursor !== undefined);
  return entries.reverse();
}
