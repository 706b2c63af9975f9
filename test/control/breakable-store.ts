import { createMemoryStore } from '../../src/store/memory/store.ts';
import type { ScopeKey, ScopeState, StateStore, StoreReset } from '../../src/store/state-store.ts';
import { unwritten } from '../../src/wire/errors.ts';

/** A store in memory, shared by several planes, that can be made to fail, and to tell of changes. */
export function breakableStore(inner: StateStore = createMemoryStore()) {
  const listeners = new Set<(scope: ScopeKey, state: ScopeState) => void>();
  const resetListeners = new Set<(reset: StoreReset) => void>();
  let calls = 0;
  const mode = { down: false };

  async function ask<T>(work: () => Promise<T>): Promise<T> {
    calls += 1;
    if (mode.down) throw unwritten(new Error('connect ECONNREFUSED 10.0.0.7:6379'));
    return work();
  }

  const store: StateStore = {
    ...inner,
    shared: true,
    load: () => ask(() => inner.load()),
    commit: (commit) => ask(() => inner.commit(commit)),
    // As that of a SQLite file that was removed.
    sync: () => ask(async () => {}),
    findReplay: (key, now) => ask(() => inner.findReplay(key, now)),
    queryAudit: (query) => ask(() => inner.queryAudit(query)),
    newestAudit: () => ask(() => inner.newestAudit()),
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    onReset(listener) {
      resetListeners.add(listener);
      return () => resetListeners.delete(listener);
    },
  };
  return {
    store,
    mode,
    get calls() {
      return calls;
    },
    /** Tells every plane of a scope, as it is or as given. */
    async announce(scope: ScopeKey, state?: ScopeState): Promise<void> {
      const told = state ?? (await inner.load()).get(scope);
      if (told !== undefined) for (const listener of listeners) listener(scope, told);
    },
    reset(reason: StoreReset['reason'] = 'empty', history = 'second'): void {
      for (const listener of resetListeners) listener({ reason, history });
    },
    /** The trail as it is kept, oldest first. */
    entries: async () => (await inner.queryAudit({ limit: 10_000 })).entries.toReversed(),
    settings: async (scope: ScopeKey) => (await inner.load()).get(scope)?.settings ?? new Map(),
  };
}
