import type { Condition } from '../otel/report/conditions.ts';
import {
  GLOBAL_SCOPE,
  type ScopeKey,
  type ScopeState,
  type StateStore,
  type StoreReset,
} from '../store/state-store.ts';
import { storeProblem } from '../wire/errors.ts';
import type { ChangeRecord } from '../wire/messages.ts';
import type { Clock, Delay } from '../wire/time/clock.ts';
import { parseTimestamp, timestamp } from '../wire/time.ts';
import type { PlaneParts } from './plane.ts';
import { UNWRITTEN } from './scope-states.ts';
import type { CategoryView, Writer } from './types.ts';
import type { Views } from './views.ts';

export type FollowedStore = Pick<StateStore, 'load' | 'subscribe' | 'onReset' | 'newestAudit' | 'check'>;

type FollowerOptions = Pick<PlaneParts, 'store' | 'states' | 'binding' | 'outage' | 'report'>;

interface FollowerEvents {
  /** The store must be read again soon, or was read. */
  changed(): void;
  /**
   * The store has lost acknowledged changes, and its present state is not applied yet.
   * @param reread resolves once the store was read again, or failed
   */
  lost(reset: StoreReset, reread: Promise<void>): void;
}

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

/** How long health reports a loss when nothing is changed after it, in milliseconds. */
const REPORTED_MS = 3_600_000;
/** How long the claim lasts that keeps other processes from recording the same loss, in milliseconds. */
const CLAIM_MS = 86_400_000;

const REASON = {
  empty: 'the store came back empty',
  rollback: 'the store came back with an older state',
} as const;

interface StoreResetsOptions {
  readonly writer: Writer;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly views: Pick<Views, 'of'>;
  readonly delay: Delay;
  /** Holds from a loss until the next change, for an hour at most. */
  readonly condition: Condition;
}

/** Reports acknowledged changes that the store has lost: once in the audit trail for all processes, and in health. */
export class StoreResets {
  readonly #options: StoreResetsOptions;
  /** When the state after the last loss was applied, on the monotonic clock. */
  #since: number | undefined;
  #cancelEnd = () => {};

  constructor(options: StoreResetsOptions) {
    this.#options = options;
  }

  /** Whether the store has lost state and nothing was changed since. */
  get unseen(): boolean {
    return this.#since !== undefined && this.#options.clock.monotonic() - this.#since < REPORTED_MS;
  }

  /** Called once the store's present state is in force. The first process to get here writes the audit entry. */
  async report({ reason, history }: StoreReset, before: readonly CategoryView[]): Promise<void> {
    const { writer, clock, delay, condition } = this.#options;
    this.#since = clock.monotonic();
    condition.begin(`the store has lost changes: ${REASON[reason]}`);
    this.#cancelEnd();
    this.#cancelEnd = delay(REPORTED_MS, condition.end);
    const changes = this.#changesFrom(before);
    const categories = changes.map(({ category }) => category);
    await writer.note({
      draft: { action: 'state_reset', categories, changes, outcome: 'success', identity: {}, reason: REASON[reason] },
      replay: { key: `state_reset ${history}`, fingerprint: '', response: '', expiresAt: clock.now() + CLAIM_MS },
    });
  }

  /** Called after a change: the loss needs no further attention. */
  changed(): void {
    this.#since = undefined;
    this.#cancelEnd();
    this.#options.condition.end();
  }

  #changesFrom(before: readonly CategoryView[]): readonly ChangeRecord[] {
    const effectiveAt = timestamp(this.#options.clock.now());
    const previous = new Map(before.map(({ name, enabled }) => [name, enabled]));
    return this.#options.views.of(GLOBAL_SCOPE).flatMap(({ name, enabled, temporary, expiresAt }) => {
      const previousState = previous.get(name) ?? enabled;
      if (previousState === enabled) return [];
      const end = expiresAt === undefined ? {} : { expiresAt: timestamp(expiresAt) };
      return [{ category: name, previousState, newState: enabled, temporary, effectiveAt, ...end }];
    });
  }
}
