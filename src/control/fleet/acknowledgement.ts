import type { Position } from '../../store/state-store.ts';
import type { FleetSummary } from '../../wire/messages.ts';
import type { Clock, Delay } from '../../wire/time/clock.ts';
import { CHANGE_REFUSALS } from '../refusals.ts';
import { ACKNOWLEDGE_AFTER_MS } from './beat.ts';
import { isSettled, type Roster, reached } from './roster.ts';

/** Shortest and longest time between two counts of those who have applied a change, in milliseconds. */
const POLL_MS = 10;
const MAX_POLL_MS = 100;
/** Part of the time waited so far until the next count: whatever the fleet's size, the answer is at most that much later. */
const POLL_SHARE = 1 / 6;
/** How long a process may be behind before its health check fails, in milliseconds. */
const CATCH_UP_MS = 1000;

export interface AcknowledgementOptions {
  readonly roster: Pick<Roster, 'isAlone' | 'newest' | 'progress'>;
  readonly applied: () => Position | undefined;
  readonly timeoutMs: number;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly delay: Delay;
}

export class Acknowledgement {
  readonly #options: AcknowledgementOptions;
  readonly #waiting = new Set<() => void>();
  #closed = false;

  constructor(options: AcknowledgementOptions) {
    this.#options = options;
  }

  /** Called when this process has applied a change, or all others may have. */
  wake(): void {
    for (const resume of this.#waiting) resume();
  }

  close(): void {
    this.#closed = true;
    this.wake();
  }

  /**
   * Waits for every process that is heard of.
   * @param position of the change. @default the newest change
   * @param meant the ids of the processes that count. @default all
   * @returns `undefined` if who has applied it is not known
   */
  async byAll(position?: Position, meant?: () => readonly string[]): Promise<FleetSummary | undefined> {
    const { roster, timeoutMs, clock } = this.#options;
    const begunAt = clock.monotonic();
    const deadline = begunAt + timeoutMs;
    // No other process can have acknowledged yet, and polling would delay them.
    if (!roster.isAlone) await this.#pause(Math.min(timeoutMs, ACKNOWLEDGE_AFTER_MS));
    let target = position;
    let known: FleetSummary | undefined;
    for (;;) {
      const isLast = this.#closed || clock.monotonic() >= deadline;
      try {
        target ??= await roster.newest();
        known = (await roster.progress(target, { meant, isLast })) ?? known;
      } catch {
        // The store may answer the next time.
      }
      if (isLast || (known !== undefined && isSettled(known))) return known;
      const now = clock.monotonic();
      const pollMs = Math.min(MAX_POLL_MS, Math.max(POLL_MS, (now - begunAt) * POLL_SHARE));
      await this.#change(Math.max(0, Math.min(deadline - now, pollMs)));
    }
  }

  /**
   * Waits for this process.
   * @throws {RdcpError} `RDCP_UNAVAILABLE` if it is behind the store and does not catch up, or if the store is unreachable
   */
  async byThisProcess(): Promise<void> {
    const { roster, applied, clock } = this.#options;
    const target = await roster.newest().catch((cause: unknown) => {
      throw CHANGE_REFUSALS.noPosition(cause);
    });
    const deadline = clock.monotonic() + CATCH_UP_MS;
    while (!reached(applied(), target)) {
      const remaining = deadline - clock.monotonic();
      if (remaining <= 0 || this.#closed) throw CHANGE_REFUSALS.behind();
      await this.#change(remaining);
    }
  }

  #pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      this.#options.delay(milliseconds, resolve);
    });
  }

  /** Resolves when a change may have been applied, or the time is up. */
  #change(milliseconds: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#options.delay(milliseconds, resolve);
    this.#waiting.add(resolve);
    return promise.finally(() => {
      cancel();
      this.#waiting.delete(resolve);
    });
  }
}
