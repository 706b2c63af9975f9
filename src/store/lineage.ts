import { diagnostics } from '../otel/diagnostics.ts';
import { Listeners } from './listeners.ts';
import type { Position, ScopeKey, ScopeState, StoreReset } from './state-store.ts';

/** A point of a shared store's history. A store that was restored from an old copy has another head under the same version. */
export interface Lineage {
  readonly history: string;
  readonly version: number;
  /** Identifies the last change. */
  readonly head: string;
}

/** A read of a shared store. */
export interface Reading {
  /** Whether it has every scope, those that changed since the last reading, or every scope of a store that lost changes. */
  readonly how: 'all' | 'changes' | StoreReset['reason'];
  readonly lineage: Lineage;
  readonly scopes: ReadonlyMap<ScopeKey, ScopeState>;
}

/** Follows the history of a shared store, and tells subscribers what changed, and that the store lost changes. */
export class ChangeFeed {
  readonly resets = new Listeners<[StoreReset]>('resets');
  readonly moved = new Listeners<[]>('positions');
  readonly #subscribers = new Listeners<[ScopeKey, ScopeState]>('changes');
  readonly #store: string;
  /** The secret that messages are signed and sealed with; empty while the store was not read, or holds none. */
  secret = '';
  /** The server's clock minus our monotonic one, in milliseconds, as of the last answer. */
  #clockOffset: number | undefined;
  #known: Lineage | undefined;
  /** The newest change when the store was loaded last. */
  #loaded: Lineage | undefined;
  /** Revisions known from answers to commits, whose messages are still on their way. */
  readonly #ahead = new Map<ScopeKey, number>();
  #closed = false;

  /** @param store for messages */
  constructor(store: string) {
    this.#store = store;
  }

  get lineage(): Lineage | undefined {
    return this.#known;
  }

  get isHeard(): boolean {
    return this.#subscribers.size > 0;
  }

  /**
   * Notes the server's time in an answer, in milliseconds.
   * @param sentAt when it was asked, on the monotonic clock
   */
  readonly noteTime = (time: number, sentAt: number): void => {
    this.#clockOffset = time - (sentAt + performance.now()) / 2;
  };

  /** The server's time, in milliseconds; `undefined` while unknown. */
  get time(): number | undefined {
    return this.#clockOffset === undefined ? undefined : performance.now() + this.#clockOffset;
  }

  readonly position = (): Position | undefined =>
    this.#known && { history: this.#known.history, revision: this.#known.version };

  /** @param since the lineage that the reading began at */
  apply({ how, lineage, scopes }: Reading, since: Lineage | undefined): void {
    const before = this.#known;
    if (this.#closed) return;
    const isSame = before?.history === lineage.history;
    // A reset, or a new subscription further back, came meanwhile.
    if (how === 'changes' && (!isSame || before.version < (since?.version ?? 0))) return;
    // A message or another reading was faster.
    if (isSame && (how === 'changes' ? before.version >= lineage.version : before.version > lineage.version)) return;
    this.#known = lineage;
    if ((how === 'empty' || how === 'rollback') && !isSame) {
      this.#ahead.clear();
      diagnostics.warn(`rdcp: ${this.#store} has lost changes that it had acknowledged (${how})`);
      this.resets.call({ reason: how, history: lineage.history });
    }
    for (const [scope, state] of scopes) this.#notify(scope, state);
    if (!isSame || before.version !== lineage.version) this.moved.call();
  }

  /** Whether a change was taken already. */
  has({ history, version }: Lineage): boolean {
    return this.#known?.history === history && version <= this.#known.version;
  }

  /** Whether a change comes right after the last one, whose head it names. */
  isNext({ history, version }: Lineage, previous: string | undefined): boolean {
    const known = this.#known;
    return known?.history === history && known.version + 1 === version && known.head === previous;
  }

  answered(scope: ScopeKey | undefined, revision: number): void {
    if (scope !== undefined) this.#ahead.set(scope, Math.max(revision, this.#ahead.get(scope) ?? 0));
  }

  /** Notes a load. When a lineage is known already, the next reading still compares it, and notifies subscribers. */
  loaded(lineage: Lineage): void {
    this.#known ??= lineage;
    this.#loaded = lineage;
  }

  /** @param read reads what changed */
  subscribe(listener: (scope: ScopeKey, state: ScopeState) => void, read: () => void): () => void {
    if (this.#closed) return () => {};
    if (!this.isHeard && this.#loaded !== undefined) {
      // Changes between the load and this call were announced to no subscriber.
      this.#known = this.#loaded;
      read();
    }
    return this.#subscribers.add(listener);
  }

  close(): void {
    this.#closed = true;
    for (const listeners of [this.#subscribers, this.resets, this.moved]) listeners.clear();
  }

  #notify(scope: ScopeKey, state: ScopeState): void {
    const answered = this.#ahead.get(scope);
    if (answered !== undefined && state.revision < answered) return;
    this.#ahead.delete(scope);
    this.#subscribers.call(scope, state);
  }
}
