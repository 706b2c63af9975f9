import type { Condition } from '../otel/report/conditions.ts';
import type { ScopeKey, ScopeState, StateStore, StoreReset } from '../store/state-store.ts';
import { storeProblem } from '../wire/errors.ts';
import { parseTimestamp } from '../wire/time.ts';
import { type Provenance, type ScopeStates, UNWRITTEN } from './scope-states.ts';

export type FollowedStore = Pick<StateStore, 'load' | 'subscribe' | 'onReset' | 'newestAudit' | 'check'>;

export interface FollowerOptions {
  readonly store: FollowedStore;
  /** The scopes that this process knows. */
  readonly states: Pick<ScopeStates, 'stored' | 'keys'>;
  /** Applies what the store holds. */
  readonly binding: {
    adopt(key: ScopeKey, state: ScopeState, from: { readonly provenance?: Provenance | undefined }): void;
  };
  /** Holds while the store is unreachable. */
  readonly outage: Condition;
  readonly report: (error: unknown) => void;
}

export interface FollowerEvents {
  /** The store must be read again soon, or was read. */
  changed(): void;
  /**
   * The store has lost acknowledged changes, and its present state is not applied yet.
   * @param reread resolves once the store was read again, or failed
   */
  lost(reset: StoreReset, reread: Promise<void>): void;
}

/** Keeps this process in step with the store. */
export class Follower {
  /** True after a full read, until the store fails. Only another full read sets it again. */
  reachable = false;
  /** True when this process may hold stale state. {@link Follower.read} resolves that. */
  doubtful = false;
  readonly #options: FollowerOptions;
  readonly #unsubscribes: (() => void)[] = [];
  #events: FollowerEvents | undefined;
  #loaded = false;
  #failing = false;
  /** Counts doubts. A doubt that arises during a read is not resolved by that read. */
  #doubts = 0;
  #closed = false;
  #reading: Promise<void> | undefined;

  constructor(options: FollowerOptions) {
    this.#options = options;
  }

  subscribe(events: FollowerEvents): void {
    this.#events = events;
  }

  /** Whether this process has applied every change that it received. */
  get current(): boolean {
    return this.reachable && !this.doubtful && this.#reading === undefined;
  }

  /** Called when the store failed: its state is in doubt, and commands fail at once until it was read again. */
  failed(): void {
    this.#lose();
    void this.read();
    this.#events?.changed();
  }

  /** Reads everything. Never rejects; one read runs at a time. */
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
        if (!this.#closed) this.#events?.changed();
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
    this.#events?.changed();
  }

  async #readAll(): Promise<void> {
    const { store, states, outage } = this.#options;
    // A store that answers reads but rejects writes has not recovered.
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
      this.#unsubscribes.push(store.subscribe((key, state) => this.#applyMessage(key, state)));
      if (store.onReset !== undefined) this.#unsubscribes.push(store.onReset((reset) => this.#reset(reset)));
    }
    this.#loaded = true;
    this.#failing = false;
    this.reachable = true;
    this.doubtful = this.#doubts !== doubtsBefore;
    outage.end();
  }

  /** Applies one scope of a read, unless a commit or message that arrived during the read is newer. */
  #take(key: ScopeKey, state: ScopeState, before: number, lastWritten: number | undefined): void {
    const { states, binding } = this.#options;
    const known = states.stored(key);
    if (known.revision !== before && known.revision >= state.revision) return;
    if (known.revision === state.revision && known.changedAt === state.changedAt) return;
    const writtenAt = Math.max(state.changedAt ?? 0, lastWritten ?? 0);
    const provenance = { writtenAt: this.#loaded ? state.changedAt : writtenAt, restored: !this.#loaded };
    binding.adopt(key, state, { provenance });
  }

  /**
   * Applies a change message. Messages arrive in order, so a revision that goes back or forks means that the store was
   * reset.
   */
  #applyMessage(key: ScopeKey, state: ScopeState): void {
    if (this.#closed) return;
    const { states, binding } = this.#options;
    const known = states.stored(key);
    if (state.revision > known.revision) binding.adopt(key, state, {});
    else if (state.revision < known.revision || state.changedAt !== known.changedAt) this.#doubt();
  }

  /** A read already under way may still return the lost state, so another one follows it. */
  #reset(reset: StoreReset): void {
    this.#doubt();
    this.#events?.lost(
      reset,
      (this.#reading ?? Promise.resolve()).then(() => this.read()),
    );
  }

  /** Wall time of the newest audit entry: a lower bound for the current time. */
  async #newestEntry(): Promise<number | undefined> {
    const entry = await this.#options.store.newestAudit();
    return entry && parseTimestamp(entry.timestamp);
  }
}
