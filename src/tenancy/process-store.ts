import { LRUCache } from 'lru-cache';
import type { Commit, CommitResult, ReplayRecord, ScopeKey, ScopeState, StateStore } from '../store/state-store.ts';

/** Replay records kept; beyond that the oldest are dropped before their time. */
const MAX_REPLAYS = 10_000;

const UNWRITTEN: ScopeState = { revision: 0, settings: new Map() };

/**
 * A store that keeps state and answers in this process, for nobody else and no longer than it lives, so that there is no
 * fleet to agree; the audit trail and sessions are the given store's. The two are one step as seen from here: state changes once the entry is written. Where the answer to that
 * write is lost, the entry may tell of a change that was refused, never the other way round.
 */
export function createProcessStore(trail: StateStore): StateStore {
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
    scopes.set(state.scope, { revision, settings: state.settings, changedAt: now });
    return { outcome: 'committed', revision };
  }

  return {
    name: trail.name,
    shared: false,
    ...(trail.tokens && { tokens: trail.tokens }),

    // What cannot be audited is not changed, so a trail that does not answer is a store that does not.
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

    // Nobody else can write here.
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
