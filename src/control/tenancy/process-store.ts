import { createMemoryStore } from '../../store/memory/store.ts';
import { inTurn } from '../../store/one-at-a-time.ts';
import type { Commit, CommitResult, StateStore } from '../../store/state-store.ts';

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
