import type { Condition } from '../conditions.ts';
import { storeProblem } from '../errors.ts';
import { parseTimestamp } from '../protocol/time.ts';
import type { ScopeKey, ScopeState, StateStore, StoreReset } from '../store/state-store.ts';
import { type Provenance, type ScopeStates, UNWRITTEN } from './scope-states.ts';

export type FollowedStore = Pick<StateStore, 'load' | 'subscribe' | 'onReset' | 'newestAudit' | 'check'>;

export interface FollowerOptions {
  readonly store: FollowedStore;
  /** What this process knows of the scopes. */
  readonly states: Pick<ScopeStates, 'stored' | 'keys'>;
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

/** Makes this process follow what the store holds. */
export class Follower {
  /** True once the store was read, and as long as it answers, as far as is known. Only reading all of it brings that back. */
  reachable = false;
  /** True when what this process knows may be wrong. {@link Follower.read} puts it right. */
  doubtful = false;
  readonly #options: FollowerOptions;
  readonly #unsubscribes: (() => void)[] = [];
  #loaded = false;
  #failing = false;
  /** How often there was a doubt: one that comes while the store is read is not resolved by that reading. */
  #doubts = 0;
  #closed = false;
  #reading: Promise<void> | undefined;

  constructor(options: FollowerOptions) {
    this.#options = options;
  }

  /** Whether this process has applied every change that it received. */
  get current(): boolean {
    return this.reachable && !this.doubtful && this.#reading === undefined;
  }

  /** The store did not answer: what it holds is in doubt, and commands do not wait for it until it was read again. */
  failed(): void {
    this.#lose();
    void this.read();
    this.#options.changed();
  }

  /** Reads everything. Never rejects; only one at a time. */
  read(): Promise<void> {
    this.#reading ??= this.#readAll()
      .catch((error: unknown) => {
        if (!this.#closed) {
          if (!this.#failing) this.#options.report(error);
          this.#options.outage.begin(storeProblem(error));
        }
        this.#lose();
      })
      .finally(() => {
        this.#reading = undefined;
        if (!this.#closed) this.#options.changed();
      });
    return this.#reading;
  }

  close(): void {
    this.#closed = true;
    for (const unsubscribe of this.#unsubscribes) unsubscribe();
  }

  #lose(): void {
    this.#failing = true;
    this.reachable = false;
    this.doubtful = true;
  }

  #doubt(): void {
    this.doubtful = true;
    this.#doubts += 1;
    this.#options.changed();
  }

  async #readAll(): Promise<void> {
    const { store, states, outage } = this.#options;
    // A store that only answers reads is no better than it was.
    if (this.#loaded && this.#failing) await store.check();
    const doubtsBefore = this.#doubts;
    const before = new Map([...states.keys()].map((key) => [key, states.stored(key).revision]));
    const lastWritten = this.#loaded ? undefined : await this.#newestEntry();
    const found = await store.load();
    if (this.#closed) return;
    for (const key of new Set([...before.keys(), ...found.keys()])) {
      this.#take(key, found.get(key) ?? UNWRITTEN, before.get(key) ?? 0, lastWritten);
    }
    if (!this.#loaded) {
      this.#unsubscribes.push(store.subscribe((key, state) => this.#hear(key, state)));
      if (store.onReset !== undefined) this.#unsubscribes.push(store.onReset((reset) => this.#reset(reset)));
    }
    this.#loaded = true;
    this.#failing = false;
    this.reachable = true;
    this.doubtful = this.#doubts !== doubtsBefore;
    outage.end();
  }

  /** What was committed, or heard of, while the answer was on its way is newer than the answer. */
  #take(key: ScopeKey, state: ScopeState, before: number, lastWritten: number | undefined): void {
    const { states, adopt } = this.#options;
    const known = states.stored(key);
    if (known.revision !== before && known.revision >= state.revision) return;
    if (known.revision === state.revision && known.changedAt === state.changedAt) return;
    const writtenAt = Math.max(state.changedAt ?? 0, lastWritten ?? 0);
    adopt(key, state, { writtenAt: this.#loaded ? state.changedAt : writtenAt, restored: !this.#loaded });
  }

  /** Changes come in order. One that goes back, or differs without going on, tells of another history. */
  #hear(key: ScopeKey, state: ScopeState): void {
    if (this.#closed) return;
    const { states, adopt } = this.#options;
    const known = states.stored(key);
    if (state.revision > known.revision) adopt(key, state);
    else if (state.revision < known.revision || state.changedAt !== known.changedAt) this.#doubt();
  }

  /** A reading that had begun before may still bring what was lost: another one follows it. */
  #reset(reset: StoreReset): void {
    this.#doubt();
    this.#options.lost(
      reset,
      (this.#reading ?? Promise.resolve()).then(() => this.read()),
    );
  }

  /** Wall time of the newest entry of the trail: by then, time had certainly come that far. */
  async #newestEntry(): Promise<number | undefined> {
    const entry = await this.#options.store.newestAudit();
    return entry && parseTimestamp(entry.timestamp);
  }
}
