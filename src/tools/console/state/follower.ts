import { retryDelay } from '../../../wire/time/retry-delay.ts';

/** A connection that lived for this long begins with the shortest pause again, in milliseconds. */
const STABLE_MS = 10_000;
/** Longest pause between two attempts, in milliseconds. */
const LONGEST_MS = 30_000;

export interface Timing {
  /** In milliseconds since the epoch. */
  readonly now: () => number;
  /** @returns a function that cancels the task */
  readonly after: (milliseconds: number, task: () => void) => () => void;
  /** Between 0 and 1. */
  readonly random: () => number;
}

export const REAL_TIME: Timing = {
  now: Date.now,
  after: (milliseconds, task) => {
    const timer = setTimeout(task, milliseconds);
    return () => clearTimeout(timer);
  },
  random: Math.random,
};

interface FollowerParts<E extends object> extends Pick<Timing, 'after' | 'random'> {
  /** Opens the stream where the last one stopped. */
  readonly open: (lastEventId: string | undefined, signal: AbortSignal) => AsyncIterable<E>;
  readonly receive: (event: E) => void;
  readonly changed: (state: FollowerState) => void;
  /** Whether an error ends the following: the credential is no longer accepted, or does not allow it. */
  readonly isFinal: (error: unknown) => boolean;
  /** A stream without an event for this long is silent, in milliseconds. @default it may be without one */
  readonly silentMs?: number;
  /** The server's `Retry-After`, as time from now in milliseconds. */
  readonly askedFor: (error: unknown) => number | undefined;
}

export type FollowerState =
  /** `silent`: connected, and no event comes. */
  | { readonly state: 'connecting' | 'live' | 'silent' | 'paused' }
  /** After `stop()` or a final error. */
  | { readonly state: 'stopped'; readonly error?: unknown }
  | { readonly state: 'lost'; readonly error: unknown; readonly delayMs: number };

/** Follows a stream of events: opens it again when it breaks, and closes it while it is paused. */
export class Follower<E extends object> {
  readonly #parts: FollowerParts<E>;
  #lastEventId: string | undefined;
  #failures = 0;
  #current: AbortController | undefined;
  /** The timer of the next attempt, or of the time after which a connection counts as stable. */
  #cancelTimer: (() => void) | undefined;
  #cancelSilence: (() => void) | undefined;
  #waiting = false;

  constructor(parts: FollowerParts<E>) {
    this.#parts = parts;
  }

  /** Begins, or begins again from where it was. */
  start(): void {
    this.#failures = 0;
    void this.#connect();
  }

  /** Begins without the last position, for another scope. */
  restart(): void {
    this.#lastEventId = undefined;
    this.start();
  }

  pause(): void {
    if (this.#current !== undefined || this.#waiting) this.#end({ state: 'paused' });
  }

  stop(): void {
    this.#lastEventId = undefined;
    this.#end({ state: 'stopped' });
  }

  /** Tries at once where it waits for the next attempt: the network is back, or the page is visible again. */
  wake(): void {
    if (this.#waiting) this.start();
  }

  #end(state: FollowerState): void {
    this.#abandon();
    this.#parts.changed(state);
  }

  #abandon(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#cancelSilence?.();
    this.#waiting = false;
    this.#current?.abort();
    this.#current = undefined;
  }

  async #connect(): Promise<void> {
    this.#abandon();
    const attempt = new AbortController();
    this.#current = attempt;
    const { open, receive, changed, after, silentMs } = this.#parts;
    changed({ state: 'connecting' });
    if (this.#current !== attempt) return;
    let failure: unknown = new Error('the stream ended');
    let state: FollowerState['state'] = 'connecting';
    try {
      for await (const event of open(this.#lastEventId, attempt.signal)) {
        if (this.#current !== attempt) return;
        if ('id' in event) this.#lastEventId = event.id as string;
        receive(event);
        if (this.#current !== attempt) continue;
        this.#cancelSilence?.();
        if (silentMs !== undefined) {
          this.#cancelSilence = after(silentMs, () => {
            state = 'silent';
            changed({ state });
          });
        }
        if (state === 'live') continue;
        state = 'live';
        changed({ state });
        this.#cancelTimer ??= after(STABLE_MS, () => {
          this.#failures = 0;
        });
      }
    } catch (error) {
      failure = error;
    }
    if (this.#current === attempt) this.#retry(failure);
  }

  #retry(error: unknown): void {
    const { isFinal, askedFor, after, random, changed } = this.#parts;
    if (isFinal(error)) {
      this.#end({ state: 'stopped', error });
      return;
    }
    this.#abandon();
    this.#failures += 1;
    const delayMs = retryDelay({
      failures: this.#failures,
      longestMs: LONGEST_MS,
      askedForMs: askedFor(error),
      random: random(),
    });
    this.#waiting = true;
    this.#cancelTimer = after(delayMs, () => void this.#connect());
    changed({ state: 'lost', error, delayMs });
  }
}
