import type { Condition } from '../conditions.ts';
import { storeProblem } from '../errors.ts';
import { parseTimestamp } from '../protocol/time.ts';
import type { ScopeKey, ScopeState, StateStore, StoreReset } from '../store/state-store.ts';
import type { Provenance } from './deadlines.ts';

export type FollowedStore = Pick<StateStore, 'load' | 'subscribe' | 'onReset' | 'newestAudit' | 'check'>;

export interface FollowerOptions {
  readonly store: FollowedStore;
  /** What this process knows of a scope. */
  readonly stored: (key: ScopeKey) => ScopeState;
  readonly keys: () => Iterable<ScopeKey>;
  /** Takes over what the store holds. */
  readonly adopt: (key: ScopeKey, state: ScopeState, provenance?: Provenance) => void;
  /**
   * Called when the store has lost what it had acknowledged, before what it holds now is taken over.
   * @param reread resolves when that was done, or the store does not answer
   */
  readonly lost: (reset: StoreReset, reread: Promise<void>) => void;
  /** Called when the store is to be read again soon, and when it was. */
  readonly changed: () => void;
  /** Holds while the store does not answer. */
  readonly outage: Condition;
  readonly report: (error: unknown) => void;
}

/** Keeps this process's picture of the store true. */
export interface Follower {
  /** True once the store was read. */
  readonly loaded: boolean;
  /** True while the store does not answer, as far as is known. Only reading all of it anew ends this. */
  readonly unreachable: boolean;
  /** True when the picture may be wrong. {@link Follower.read} puts it right. */
  readonly doubtful: boolean;
  /** Whether the picture is the store's, up to what it told last. */
  readonly current: boolean;
  /** The store did not answer: what it holds is in doubt, and nobody need wait for it until it was read again. */
  failed(): void;
  /** Reads everything. Never rejects; only one at a time. */
  read(): Promise<void>;
  close(): void;
}

const UNWRITTEN: ScopeState = { revision: 0, settings: new Map() };

export function createFollower(options: FollowerOptions): Follower {
  const { store, stored, keys, adopt, lost, changed, outage, report } = options;
  let loaded = false;
  let unreachable = false;
  let doubtful = false;
  /** How often there was a doubt: one that comes while the store is read is not settled by that reading. */
  let doubts = 0;
  let closed = false;
  let reading: Promise<void> | undefined;
  const stops: (() => void)[] = [];

  function doubt(): void {
    doubtful = true;
    doubts += 1;
    changed();
  }

  /** Changes come in order. One that goes back, or differs without going on, tells of another history. */
  function heard(key: ScopeKey, state: ScopeState): void {
    if (closed) return;
    const known = stored(key);
    if (state.revision > known.revision) adopt(key, state);
    else if (state.revision < known.revision || state.changedAt !== known.changedAt) doubt();
  }

  async function readAll(): Promise<void> {
    // A store that only answers reads is no better than it was.
    if (loaded && unreachable) await store.check();
    const doubtsBefore = doubts;
    const before = new Map([...keys()].map((key) => [key, stored(key).revision]));
    const lastWritten = loaded ? undefined : await newestEntry();
    const states = await store.load();
    if (closed) return;
    for (const key of new Set([...before.keys(), ...states.keys()])) {
      const state = states.get(key) ?? UNWRITTEN;
      const known = stored(key);
      // What was committed, or heard of, while the answer was on its way is newer than the answer.
      if (known.revision !== (before.get(key) ?? 0) && known.revision >= state.revision) continue;
      if (known.revision === state.revision && known.changedAt === state.changedAt) continue;
      const writtenAt = Math.max(state.changedAt ?? 0, lastWritten ?? 0);
      adopt(key, state, { writtenAt: loaded ? state.changedAt : writtenAt, restored: !loaded });
    }
    if (!loaded) {
      stops.push(store.subscribe(heard));
      if (store.onReset !== undefined) stops.push(store.onReset(reset));
    }
    loaded = true;
    unreachable = false;
    doubtful = doubts !== doubtsBefore;
    outage.end();
  }

  /** A reading that had begun before may still bring what was lost: another one follows it. */
  function reset(loss: StoreReset): void {
    doubt();
    lost(loss, (reading ?? Promise.resolve()).then(read));
  }

  /** Wall time of the newest entry of the trail: by then, time had certainly come that far. */
  async function newestEntry(): Promise<number | undefined> {
    const entry = await store.newestAudit();
    return entry && parseTimestamp(entry.timestamp);
  }

  function read(): Promise<void> {
    reading ??= readAll()
      .catch((error: unknown) => {
        if (!unreachable && !closed) report(error);
        if (!closed) outage.begin(storeProblem(error));
        unreachable = true;
        doubtful = true;
      })
      .finally(() => {
        reading = undefined;
        if (!closed) changed();
      });
    return reading;
  }

  return {
    get loaded() {
      return loaded;
    },
    get unreachable() {
      return unreachable;
    },
    get doubtful() {
      return doubtful;
    },
    get current() {
      return loaded && !unreachable && !doubtful && reading === undefined;
    },
    failed() {
      unreachable = true;
      doubtful = true;
      void read();
      changed();
    },
    read,
    close() {
      closed = true;
      for (const stop of stops) stop();
    },
  };
}
