import { BEAT_MS, type CategoryLists, type FleetStore } from '../../store/fleet-store.ts';
import type { MessageStore } from '../../store/message-store.ts';
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
  const { tokens, fleet, messages, onReset, onMalformed } = store;
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

    ...(tokens && { tokens }),
    ...(fleet && { fleet: createNamespacedFleet(fleet, prefix) }),
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
 * The processes of one namespace. Their ids in the store begin with the namespace; processes of other namespaces are hidden,
 * because they do not apply these changes, and so no count of all is of use. All namespaces share the store's revision.
 */
function createNamespacedFleet(fleet: FleetStore, prefix: string): FleetStore {
  return {
    position: () => fleet.position(),
    onMoved: (listener) => fleet.onMoved(listener),
    announce: (instance, applied) => fleet.announce({ ...instance, id: prefix + instance.id }, applied),
    beatMs: () => fleet.beatMs?.() ?? BEAT_MS,
    withdraw: (id) => fleet.withdraw(prefix + id),
    async look() {
      const { current, instances } = await fleet.look();
      const own = instances.filter(({ id }) => id.startsWith(prefix));
      return { current, instances: own.map((instance) => ({ ...instance, id: instance.id.slice(prefix.length) })) };
    },
    onAnnounced: (listener) => fleet.onAnnounced(listener),
    ...(fleet.categories && { categories: createNamespacedLists(fleet.categories, prefix) }),
  };
}

function createNamespacedLists(lists: CategoryLists, prefix: string): CategoryLists {
  return {
    publish: (id, list) => lists.publish(prefix + id, list),
    async read(ids) {
      const found = await lists.read(ids.map((id) => prefix + id));
      return new Map([...found].map(([id, list]) => [id.slice(prefix.length), list]));
    },
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
