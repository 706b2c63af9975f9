import { LRUCache } from 'lru-cache';
import type { Commit, CommitResult, ReplayRecord, ScopeKey, ScopeState, StateStore } from '../../store/state-store.ts';

/** Most replay records; beyond that the oldest are evicted before they expire. */
const MAX_REPLAYS = 10_000;

const UNWRITTEN: ScopeState = { revision: 0, settings: new Map() };

/**
 * Keeps state and replay records in the memory of this process; there is no fleet. The audit trail and the sessions are in
 * the given store. State changes only after the audit entry is written. If the response to that write is lost, the trail may
 * have an entry for a change that was refused, but never lacks an entry for a change that was made.
 */
export function createProcessStore(trail: StateStore): StateStore {
  const { records, onMalformed } = trail;
  const scopes = new Map<ScopeKey, ScopeState>();
  const replays = new LRUCache<string, ReplayRecord>({ max: MAX_REPLAYS });
  let lastCommit: Promise<unknown> = Promise.resolve();
  let closed = false;

  function liveReplay(key: string, now: number): ReplayRecord | undefined {
    const record = replays.get(key);
    return record !== undefined && record.expiresAt > now ? record : undefined;
  }

  async function write({ state, audit, replay, now }: Commit): Promise<CommitResult> {
    const answered = replay && liveReplay(replay.key, now);
    if (answered !== undefined) return { outcome: 'replayed', replay: answered };
    const current = (state && scopes.get(state.scope)) ?? UNWRITTEN;
    if (state !== undefined && current.revision !== state.expectedRevision) return { outcome: 'conflict', current };
    await trail.commit({ audit, now });
    if (replay !== undefined) replays.set(replay.key, replay);
    if (state === undefined) return { outcome: 'committed' };
    const revision = current.revision + 1;
    const { scope, settings, activations } = state;
    scopes.set(scope, { revision, settings, activations, changedAt: now });
    return { outcome: 'committed', revision };
  }

  return {
    name: trail.name,
    shared: false,
    ...(records && { records }),
    ...(onMalformed && { onMalformed: (listener) => onMalformed.call(trail, listener) }),

    // A change that cannot be audited is refused, so the store is unavailable while the trail is.
    async load() {
      await trail.check();
      return new Map(scopes);
    },

    commit(commit) {
      const done = lastCommit.then(() => write(commit));
      lastCommit = done.catch(() => undefined);
      return done;
    },

    async findReplay(key, now) {
      if (closed) throw new Error('the store is closed');
      return liveReplay(key, now);
    },

    // No other process can write here.
    subscribe: () => () => undefined,

    queryAudit: (query) => trail.queryAudit(query),
    newestAudit: () => trail.newestAudit(),
    pruneAudit: (...given) => trail.pruneAudit(...given),
    check: () => trail.check(),
    close() {
      closed = true;
      return trail.close();
    },
  };
}
