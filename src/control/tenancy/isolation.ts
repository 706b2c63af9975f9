import { propagation } from '@opentelemetry/api';
import type { ResolvedConfig } from '../../options/config.ts';
import { BEAT_MS } from '../../store/fleet.ts';
import { createMemoryStore } from '../../store/memory/store.ts';
import type { MessageStore } from '../../store/message-store.ts';
import { inTurn } from '../../store/one-at-a-time.ts';
import { PASSING_KINDS, type RecordKind, type RecordStore } from '../../store/records.ts';
import {
  type Commit,
  type CommitResult,
  GLOBAL_SCOPE,
  type ReplayRecord,
  type ScopeKey,
  type StateStore,
} from '../../store/state-store.ts';
import { EVERYBODY, type IsolationLevel } from '../../wire/constants.ts';
import type { TenantContext } from '../../wire/messages.ts';
import { isIdentifier } from '../../wire/names.ts';
import type { Scope } from '../types.ts';

export type TenancyConfig = ResolvedConfig['tenancy'];

interface Separation {
  /** Each tenant has its own settings, which override the global ones. */
  readonly settings: boolean;
  /** A tenant sees only its own calls, and no measurements of the process. */
  readonly metrics: boolean;
}

/** In addition, `process` does not write state to the store, and `namespace` prefixes its keys with the namespace. */
const SEPARATION: Readonly<Record<IsolationLevel, Separation>> = {
  global: { settings: false, metrics: false },
  process: { settings: true, metrics: false },
  namespace: { settings: true, metrics: false },
  organization: { settings: true, metrics: true },
};

/** The effects of the configured isolation level. Without multi-tenancy all settings are global. */
export type Isolation = ReturnType<typeof createIsolation>;

const FOR_EVERYBODY: Scope = { key: GLOBAL_SCOPE };

export function createIsolation(tenancy: TenancyConfig) {
  const level = tenancy === false ? undefined : tenancy.isolation;
  const separation = level === undefined ? undefined : SEPARATION[level];
  const baggageKey = tenancy === false ? undefined : tenancy.baggageKey;
  const apart = separation?.settings === true;
  return {
    /** `undefined` without multi-tenancy. */
    level,
    separatesMetrics: separation?.metrics === true,
    /** The scope of a tenant's settings, or the global scope without a tenant. */
    scopeOf: (tenantId: string | undefined): Scope =>
      apart && tenantId !== undefined ? { key: tenantId, tenantId } : FOR_EVERYBODY,
    /** The tenant context of a response; `undefined` without multi-tenancy. */
    contextOf: (tenantId: string | undefined): TenantContext | undefined =>
      level && {
        id: tenantId ?? EVERYBODY,
        isolationLevel: level,
        scope: apart && tenantId !== undefined ? 'tenant-isolated' : 'global',
      },
    /**
     * The tenant whose calls a scope controls; `undefined` for a scope that this level does not use. The store may hold scopes of
     * another service's namespace, whose keys are not identifiers.
     */
    tenantOf: (key: ScopeKey): string | undefined => (apart && isIdentifier(key) ? key : undefined),
    /** The tenant of the current work where baggage names it; `undefined` without a configured key. */
    currentTenant: baggageKey === undefined ? undefined : baggageTenant(baggageKey),
    /** Wraps the store for this level. */
    storeFor(store: StateStore): StateStore {
      if (level === 'process') return createProcessStore(store);
      const namespace = tenancy === false ? undefined : tenancy.namespace;
      return namespace === undefined ? store : createNamespacedStore(store, namespace);
    },
  };
}

/** Returns a function that reads the tenant from the active OpenTelemetry baggage; `undefined` for an invalid tenant id. */
function baggageTenant(key: string): () => string | undefined {
  return () => {
    const value = propagation.getActiveBaggage()?.getEntry(key)?.value;
    return value !== undefined && isIdentifier(value) ? value : undefined;
  };
}

/** Most replay records; beyond that the oldest are evicted before they expire. */
const MAX_REPLAYS = 10_000;

/**
 * Keeps state and replay records in the memory of this process; there is no fleet. The audit trail and the sessions are in
 * the given store. State changes only after the audit entry is written. If the response to that write is lost, the trail may
 * have an entry for a change that was refused, but never lacks an entry for a change that was made.
 */
export function createProcessStore(trail: StateStore): StateStore {
  const { records, onMalformed } = trail;
  const state = createMemoryStore({ maxReplays: MAX_REPLAYS, maxAuditEntries: 1 });
  const next = inTurn();

  async function write(commit: Commit): Promise<CommitResult> {
    const { state: change, audit, replay, now } = commit;
    const isAnswered = replay !== undefined && (await state.findReplay(replay.key, now)) !== undefined;
    const { revision = 0 } = (change && (await state.load()).get(change.scope)) ?? {};
    const isConflict = change !== undefined && change.expectedRevision !== revision;
    if (!isAnswered && !isConflict) await trail.commit({ audit, now });
    return state.commit(commit);
  }

  return {
    ...state,
    name: trail.name,
    ...(records && { records }),
    ...(onMalformed && { onMalformed: (listener) => onMalformed.call(trail, listener) }),

    // A change that cannot be audited is refused, so the store is unavailable while the trail is.
    async load() {
      await trail.check();
      return state.load();
    },

    commit: (commit) => next(() => write(commit)),
    queryAudit: (query) => trail.queryAudit(query),
    newestAudit: () => trail.newestAudit(),
    pruneAudit: (...given) => trail.pruneAudit(...given),
    check: () => trail.check(),
    async close() {
      await state.close();
      await trail.close();
    },
  };
}

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
