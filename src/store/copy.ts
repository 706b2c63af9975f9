import type { AuditEntry } from '../wire/audit-messages.ts';
import type { StateStore } from './state-store.ts';

/** Entries read at once. */
const PAGE = 1000;

/**
 * Copies the state and the audit trail to the store that replaces a process's own. Existing scopes stay unchanged. Each
 * scope is written with one of its entries, since every change has one.
 */
export async function copyState(from: StateStore, to: StateStore, now: number): Promise<void> {
  const scopes = [...(await from.load())].filter(
    ([, { settings, activations = [] }]) => settings.size + activations.length > 0,
  );
  const entries = await allEntries(from);
  const known = await to.load();
  for (const audit of entries) {
    const [scope, state] = scopes.pop() ?? [];
    const isNew = scope !== undefined && state !== undefined && !known.has(scope);
    await to.commit({
      audit,
      now,
      ...(isNew && {
        state: { scope, expectedRevision: 0, settings: state.settings, activations: state.activations },
      }),
    });
  }
}

/** Oldest first. */
async function allEntries(store: StateStore): Promise<readonly AuditEntry[]> {
  const entries: AuditEntry[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.queryAudit({ limit: PAGE, ...(cursor !== undefined && { cursor }) });
    entries.push(...page.entries);
    cursor = page.next;
  } while (cursor !== undefined);
  return entries.reverse();
}
