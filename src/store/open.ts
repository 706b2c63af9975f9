import type { AuditEntry } from '../wire/audit-messages.ts';
import { invalidStore } from './invalid.ts';
import { createMemoryStore } from './memory/store.ts';
import { createPostgresStore } from './postgres/store.ts';
import { createRedisStore } from './redis/store.ts';
import { createSqliteStore } from './sqlite/store.ts';
import type { StateStore } from './state-store.ts';

/**
 * Opens the configured store. SQLite and the packages `redis` and `pg` are loaded only when used.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID`, in one line that names the field
 */
export function openStore(store: string | StateStore): StateStore {
  if (typeof store !== 'string') return store;
  if (store === 'memory:') return createMemoryStore();
  if (store.startsWith('sqlite:')) {
    const file = store.slice('sqlite:'.length);
    if (file !== '' && !file.includes('\0')) return createSqliteStore(file);
    throw invalidStore('sqlite: must be followed by the path of a file');
  }
  if (/^rediss?:/.test(store)) return createRedisStore({ url: store });
  if (/^postgres(ql)?:/.test(store)) return createPostgresStore({ url: store });
  throw invalidStore("must be 'memory:', 'sqlite:FILE', 'redis://…', 'rediss://…', 'postgres://…' or a StateStore");
}

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
