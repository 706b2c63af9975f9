import { type Condition, UNWATCHED } from '../../otel/report/conditions.ts';
import { type Announcement, BEAT_MS, type FleetStore, goneAfter, type Instance } from '../../store/fleet.ts';
import type { Position } from '../../store/state-store.ts';
import { storeProblem } from '../../wire/errors.ts';
import type { Clock, Delay } from '../../wire/time/clock.ts';
import type { FleetCategories } from './categories.ts';

/**
 * Delay before a change is acknowledged, in milliseconds. Without it, processes that have applied the change compete for the
 * processor with those that have not: with 20 processes on two busy cores the last gate flips after 6 ms instead of 12, and
 * the response that waits for all takes 20 ms instead of 15. The acknowledgement covers all changes made meanwhile.
 */
export const ACKNOWLEDGE_AFTER_MS = 10;
/** Consecutive failed announcements after which the store counts as unreachable. */
const FAILURES_TO_BEGIN = 2;

export interface BeatOptions {
  readonly store: Pick<FleetStore, 'position' | 'announce' | 'beatMs' | 'withdraw'>;
  readonly self: () => Pick<Instance, 'id'>;
  readonly announcement: (beatMs: number) => Announcement;
  readonly categories: FleetCategories;
  /** Whether this process has applied every change it received. */
  readonly current: () => boolean;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly delay: Delay;
  /** From 0 to 1: the processes of a large fleet do not all announce themselves at the same moment. */
  readonly random: () => number;
  /** Holds while the store is unreachable. @default not watched */
  readonly outage?: Condition | undefined;
}

/** Announces this process to its fleet: every second, in a large fleet less often, and after a change. */
export class Beat {
  reachable = true;
  readonly #options: BeatOptions;
  #applied: Position | undefined;
  #announcing: Promise<void> | undefined;
  #again = false;
  #beatMs = BEAT_MS;
  #dueAt = Number.NEGATIVE_INFINITY;
  #cancelSoon: (() => void) | undefined;
  #failures = 0;
  #leaving: Promise<void> | undefined;
  #closed = false;

  constructor(options: BeatOptions) {
    this.#options = options;
  }

  /** The applied position; the last known one while this process is not current. */
  get applied(): Position | undefined {
    const { current, store } = this.#options;
    if (current()) this.#applied = store.position();
    return this.#applied;
  }

  /** Announces this process once it is due. A large fleet that did so at the same time would do so ever after. */
  tick(): void {
    const { clock, random } = this.#options;
    const now = clock.monotonic();
    if (now < this.#dueAt) return;
    this.announce();
    this.#dueAt = this.#beatMs === BEAT_MS ? now : now + this.#beatMs * (0.8 + 0.2 * random()) - BEAT_MS / 2;
  }

  /** Announces, or schedules one more announcement if one is in progress. */
  announce(): void {
    if (this.#leaving !== undefined) return;
    this.#again = true;
    this.#announcing ??= this.#announceAll().finally(() => {
      this.#announcing = undefined;
    });
  }

  acknowledge(): void {
    if (!this.#options.current()) return;
    this.#cancelSoon ??= this.#options.delay(ACKNOWLEDGE_AFTER_MS, () => {
      this.#cancelSoon = undefined;
      this.announce();
    });
  }

  leave(): Promise<void> {
    this.#leaving ??= this.#withdraw();
    return this.#leaving;
  }

  close(): Promise<void> {
    this.#closed = true;
    this.#cancelSoon?.();
    return this.leave();
  }

  async #withdraw(): Promise<void> {
    const { store, self } = this.#options;
    // If the store is unreachable, this process's entry expires.
    const withdraw = () => store.withdraw(self().id).catch(() => undefined);
    const late = this.#announcing;
    // In this turn: it may be the last one.
    await withdraw();
    if (late !== undefined) await late.then(withdraw);
  }

  async #announceAll(): Promise<void> {
    do {
      this.#again = false;
      try {
        await this.#announceOnce();
      } catch (error) {
        this.#failed(error);
      }
    } while (this.#again && this.#leaving === undefined);
  }

  async #announceOnce(): Promise<void> {
    const { store, announcement, categories, clock, outage = UNWATCHED } = this.#options;
    await store.announce(announcement(this.#beatMs), this.applied);
    this.#beatMs = store.beatMs();
    this.reachable = true;
    if (this.#failures >= FAILURES_TO_BEGIN) outage.end();
    this.#failures = 0;
    // A list that could not be published is published after the next announcement.
    const isNew = await categories
      .announced(this.#applied?.history, clock.monotonic(), goneAfter(this.#beatMs))
      .catch(() => false);
    if (isNew) this.#again = true;
  }

  #failed(error: unknown): void {
    const { outage = UNWATCHED } = this.#options;
    this.reachable = false;
    this.#beatMs = BEAT_MS;
    this.#dueAt = Number.NEGATIVE_INFINITY;
    this.#failures += 1;
    // One failure may be a failover.
    if (this.#failures >= FAILURES_TO_BEGIN && !this.#closed) outage.begin(storeProblem(error));
  }
}
