import { retryDelay } from './retry-delay.ts';

/** A connection that lived for this long begins with the shortest pause again, in milliseconds. */
const STABLE_MS = 10_000;

export interface FollowerParts<E extends { readonly id?: string }> {
  /** Opens the stream where the last one stopped. */
  readonly open: (lastEventId: string | undefined, signal: AbortSignal) => AsyncIterable<E>;
  readonly receive: (event: E) => void;
  readonly changed: (state: FollowerState) => void;
  /** Whether an error ends the following: the credential is no longer accepted, or does not allow it. */
  readonly isFinal: (error: unknown) => boolean;
  /** The server's `Retry-After`, as time from now in milliseconds. */
  readonly askedFor: (error: unknown) => number | undefined;
  readonly after: (milliseconds: number, task: () => void) => () => void;
  readonly random: () => number;
}

export type FollowerState =
  | { readonly state: 'connecting' | 'live' | 'paused' | 'stopped' }
  | { readonly state: 'lost'; readonly error: unknown; readonly delayMs: number; readonly failures: number };

/** Follows a stream of events: opens it again when it breaks, and lets go of it while nobody looks. */
export class Follower<E extends { readonly id?: string }> {
  readonly #parts: FollowerParts<E>;
  #lastEventId: string | undefined;
  #failures = 0;
  #current: AbortController | undefined;
  /** The timer of the next attempt, or of the time after which a connection counts as stable. */
  #cancelTimer: (() => void) | undefined;
  #waiting = false;
  #running = false;

  constructor(parts: FollowerParts<E>) {
    this.#parts = parts;
  }

  /** Begins, or begins again from where it was. */
  start(): void {
    this.#running = true;
    this.#failures = 0;
    void this.#connect();
  }

  /** Forgets where it was, for another scope. */
  restart(): void {
    this.#lastEventId = undefined;
    this.start();
  }

  pause(): void {
    if (this.#running) this.#end('paused');
  }

  stop(): void {
    this.#lastEventId = undefined;
    this.#end('stopped');
  }

  /** Tries at once where it waits for the next attempt: the network is back, or somebody looks. */
  wake(): void {
    if (this.#waiting) this.start();
  }

  #end(state: 'paused' | 'stopped'): void {
    this.#running = false;
    this.#abandon();
    this.#parts.changed({ state });
  }

  #abandon(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#waiting = false;
    this.#current?.abort();
    this.#current = undefined;
  }

  async #connect(): Promise<void> {
    this.#abandon();
    const attempt = new AbortController();
    this.#current = attempt;
    const { open, receive, changed, after } = this.#parts;
    changed({ state: 'connecting' });
    let failure: unknown = new Error('the stream ended');
    let live = false;
    try {
      for await (const event of open(this.#lastEventId, attempt.signal)) {
        if (this.#current !== attempt) return;
        if (event.id !== undefined) this.#lastEventId = event.id;
        receive(event);
        if (live) continue;
        live = true;
        changed({ state: 'live' });
        this.#cancelTimer = after(STABLE_MS, () => {
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
      this.#end('stopped');
      return;
    }
    this.#abandon();
    this.#failures += 1;
    const delayMs = retryDelay({ failures: this.#failures, askedForMs: askedFor(error) }, random());
    this.#waiting = true;
    this.#cancelTimer = after(delayMs, () => void this.#connect());
    changed({ state: 'lost', error, delayMs, failures: this.#failures });
  }
}
