import { BEAT_MS } from '../../store/fleet.ts';
import type { MessageStore } from '../../store/message-store.ts';
import { PASSING_KINDS, type RecordKind, type RecordStore } from '../../store/records.ts';
import type { ReplayRecord, StateStore } from '../../store/state-store.ts';

/**
 * A view of one namespace in a store: the scope of tenant `acme` is stored as `<namespace>/acme`, and global settings apply to
 * the namespace only. Neither namespaces nor scope keys contain `/`, so two namespaces never share a key. All namespaces
 * share the audit trail, because it is a chain, and the sessions.
 */
export function createNamespacedStore(store: StateStore, namespace: string): StateStore {
  const prefix = `${namespace}/`;
  const outside = (record: ReplayRecord): ReplayRecord => ({ ...record, key: prefix + record.key });
  const inside = (record: ReplayRecord): ReplayRecord => ({ ...record, key: record.key.slice(prefix.length) });
  const { isOnOneHost, records, positions, messages, sync, onReset, onMalformed } = store;
  return {
    name: store.name,
    shared: store.shared,

    async load() {
      const scopes = await store.load();
      return new Map(
        [...scopes].flatMap(([key, state]) => (key.startsWith(prefix) ? [[key.slice(prefix.length), state]] : [])),
      );
    },

    async commit({ state, replay, ...rest }) {
      const result = await store.commit({
        ...rest,
        ...(state && { state: { ...state, scope: prefix + state.scope } }),
        ...(replay && { replay: outside(replay) }),
      });
      return result.outcome === 'replayed' ? { ...result, replay: inside(result.replay) } : result;
    },

    async findReplay(key, now) {
      const found = await store.findReplay(prefix + key, now);
      return found && inside(found);
    },

    subscribe: (listener) =>
      store.subscribe((key, state) => {
        if (key.startsWith(prefix)) listener(key.slice(prefix.length), state);
      }),

    ...(sync && { sync: () => sync.call(store) }),
    ...(isOnOneHost !== undefined && { isOnOneHost }),
    ...(records && { records: createNamespacedRecords(records, prefix) }),
    ...(positions && { positions }),
    ...(messages && { messages: createNamespacedMessages(messages, prefix) }),
    ...(onReset && { onReset: (listener) => onReset.call(store, listener) }),
    ...(onMalformed && { onMalformed: (listener) => onMalformed.call(store, listener) }),
    queryAudit: (query) => store.queryAudit(query),
    newestAudit: () => store.newestAudit(),
    pruneAudit: (...given) => store.pruneAudit(...given),
    check: () => store.check(),
    close: () => store.close(),
  };
}

/**
 * What the processes of one namespace announce is under keys that begin with the namespace; processes of other namespaces are
 * hidden, because they do not apply these changes. All namespaces share the sessions, and the store's revision.
 */
function createNamespacedRecords(records: RecordStore, prefix: string): RecordStore {
  const prefixOf = (kind: RecordKind) => (PASSING_KINDS.has(kind) ? prefix : '');
  return {
    async get(kind, keys, now) {
      const own = prefixOf(kind);
      const found = await records.get(
        kind,
        keys.map((key) => own + key),
        now,
      );
      return new Map([...found].map(([key, record]) => [key.slice(own.length), record]));
    },
    write: (writes, now) =>
      records.write(
        writes.map((write) => ({ ...write, key: prefixOf(write.kind) + write.key })),
        now,
      ),
    async list(kind, after, now) {
      const own = prefixOf(kind);
      const list = await records.list(kind, after, now);
      const inside = list.records.filter(({ key }) => key.startsWith(own));
      return { ...list, records: inside.map((record) => ({ ...record, key: record.key.slice(own.length) })) };
    },
    beatMs: () => records.beatMs?.() ?? BEAT_MS,
  };
}

/** The messages between the processes of one namespace. Those of other namespaces are not for them. */
function createNamespacedMessages(messages: MessageStore, prefix: string): MessageStore {
  return {
    address: messages.address,
    send: (message, to) => messages.send(prefix + message, to),
    onMessage: (listener) =>
      messages.onMessage((message, from) => {
        if (message.startsWith(prefix)) listener(message.slice(prefix.length), from);
      }),
  };
}
