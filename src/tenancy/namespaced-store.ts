import type { Commit, CommitResult, ReplayRecord, StateStore } from '../store/state-store.ts';
import { createNamespacedFleet } from './namespaced-fleet.ts';
import { createNamespacedMessages } from './namespaced-messages.ts';

/**
 * A view of one namespace in a store: the scope of tenant `acme` is stored as `<namespace>/acme`, and global settings apply to
 * the namespace only. Neither namespaces nor scope keys contain `/`, so two namespaces never share a key. All namespaces
 * share the audit trail, because it is a chain, and the sessions.
 */
export function createNamespacedStore(store: StateStore, namespace: string): StateStore {
  const prefix = `${namespace}/`;
  const outside = (record: ReplayRecord): ReplayRecord => ({ ...record, key: prefix + record.key });
  const inside = (record: ReplayRecord): ReplayRecord => ({ ...record, key: record.key.slice(prefix.length) });
  const commitOutside = ({ state, replay, ...rest }: Commit): Commit => ({
    ...rest,
    ...(state && { state: { ...state, scope: prefix + state.scope } }),
    ...(replay && { replay: outside(replay) }),
  });
  const resultInside = (result: CommitResult): CommitResult =>
    result.outcome === 'replayed' ? { ...result, replay: inside(result.replay) } : result;
  const { tokens, fleet, messages, onReset, commitAll } = store;
  return {
    name: store.name,
    shared: store.shared,

    async load() {
      const scopes = await store.load();
      return new Map(
        [...scopes].flatMap(([key, state]) => (key.startsWith(prefix) ? [[key.slice(prefix.length), state]] : [])),
      );
    },

    commit: async (commit) => resultInside(await store.commit(commitOutside(commit))),
    ...(commitAll && {
      commitAll: async (commits) => (await commitAll.call(store, commits.map(commitOutside))).map(resultInside),
    }),

    async findReplay(key, now) {
      const found = await store.findReplay(prefix + key, now);
      return found && inside(found);
    },

    subscribe: (listener) =>
      store.subscribe((key, state) => {
        if (key.startsWith(prefix)) listener(key.slice(prefix.length), state);
      }),

    ...(tokens && { tokens }),
    ...(fleet && { fleet: createNamespacedFleet(fleet, prefix) }),
    ...(messages && { messages: createNamespacedMessages(messages, prefix) }),
    ...(onReset && { onReset: (listener) => onReset.call(store, listener) }),
    queryAudit: (query) => store.queryAudit(query),
    newestAudit: () => store.newestAudit(),
    pruneAudit: (...given) => store.pruneAudit(...given),
    check: () => store.check(),
    close: () => store.close(),
  };
}
