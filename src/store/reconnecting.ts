import { setTimeout as sleep } from 'node:timers/promises';
import { diagnostics } from '../otel/diagnostics.ts';
import { unwritten } from '../wire/errors.ts';
import { type Delay, unrefTimeout } from '../wire/time/clock.ts';
import { timers } from '../wire/time/timers.ts';

/** Longest wait between two connection attempts, in milliseconds, so that a fleet recovers soon after its store. */
const MAX_RETRY_MS = 500;
/**
 * How many deadlines the first answer of a store may take. It needs a connection, and comes while this process, and often others
 * beside it, still load their code.
 */
const FIRST_ANSWER_DEADLINES = 5;

interface Link {
  on(event: 'error' | 'end', listener: () => void): unknown;
}

interface ReconnectingOptions<L extends Link> {
  readonly to: 'Redis' | 'PostgreSQL';
  readonly deadlineMs: number;
  /** @param signal aborts when the connection is not wanted any more */
  readonly open: (timeoutMs: number, signal: AbortSignal) => Promise<L>;
  readonly prepare: (link: L, signal: AbortSignal) => Promise<unknown>;
  /** @default that of opening */
  readonly preparationMs?: number;
  readonly close: (link: L) => void;
  /** Whether an error says that the connection leads to the wrong server. */
  readonly isStale: (error: unknown) => boolean;
}

/**
 * One connection, which is discarded at its first fault, and opened again until it is closed. The clients' own reconnecting is
 * not used: its timers would keep the application's process alive while the server is down.
 */
export class Reconnecting<L extends Link> {
  readonly #options: ReconnectingOptions<L>;
  /** How many deadlines work may take. */
  #patience = FIRST_ANSWER_DEADLINES;
  #live: L | undefined;
  /** The attempt in progress; work waits for it. */
  #attempt: Promise<void> | undefined;
  #opening: AbortController | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  #failure: unknown;
  /** Set after a timeout, until the server answers again. */
  #silent = false;
  #closed = false;

  constructor(options: ReconnectingOptions<L>) {
    this.#options = options;
    this.#failure = new Error(`${options.to} is not connected`);
    this.#begin();
  }

  isLive(link: L): boolean {
    return this.#live === link;
  }

  /**
   * Rejects when the server does not answer within the deadline, or is not connected. After one timeout, further work is
   * rejected at once until the server answers again. The error says by {@link unwritten} where the work was not begun; it never is
   * then.
   */
  async use<T>(deadlineMs: number, work: (link: L, signal: AbortSignal) => Promise<T>): Promise<T> {
    const { to, isStale } = this.#options;
    if (this.#closed) throw unwritten(new Error(`the ${to} store is closed`));
    if (this.#silent) throw unwritten(new Error(`${to} does not answer`));
    let isBegun = false;
    try {
      return await within(deadlineMs * this.#patience, async (signal) => {
        await this.#attempt;
        if (this.#live === undefined || signal.aborted) throw this.#failure;
        isBegun = true;
        return work(this.#live, signal);
      });
    } catch (error) {
      const isLate = error instanceof DeadlineError;
      this.#silent ||= isLate;
      // Late work blocks all that comes later on the connection.
      if (this.#live !== undefined && (isLate || isStale(error))) this.#lost(this.#live);
      throw isBegun ? error : unwritten(error);
    }
  }

  close(): void {
    this.#closed = true;
    timers.clearTimeout(this.#timer);
    this.#opening?.abort();
    if (this.#live !== undefined) this.#options.close(this.#live);
    this.#live = undefined;
  }

  #begin(waitMs = 0): void {
    this.#attempt = this.#connect(waitMs).finally(() => {
      this.#attempt = undefined;
    });
    this.#attempt.catch(() => {});
  }

  async #connect(waitMs: number): Promise<void> {
    const { prepare, deadlineMs } = this.#options;
    const opening = new AbortController();
    this.#opening = opening;
    let link: L | undefined;
    try {
      if (waitMs > 0) await sleep(waitMs, undefined, { ref: false });
      const timeoutMs = deadlineMs * this.#patience;
      const opened = await this.#open(timeoutMs, opening.signal);
      link = opened;
      this.#live = link;
      link.on('error', () => this.#lost(opened));
      link.on('end', () => this.#lost(opened));
      await within(this.#options.preparationMs ?? timeoutMs, (signal) => prepare(opened, signal));
      this.#failures = 0;
      this.#silent = false;
      this.#patience = 1;
    } catch (error) {
      opening.abort();
      this.#silent ||= error instanceof DeadlineError;
      this.#failure = error;
      this.#lost(link);
      throw error;
    }
  }

  #open(timeoutMs: number, opening: AbortSignal): Promise<L> {
    const { to, open, close } = this.#options;
    return within(timeoutMs, async (signal) => {
      if (this.#closed) throw new Error(`the ${to} store is closed`);
      const opened = await open(timeoutMs, opening);
      if (!signal.aborted && !opening.aborted) return opened;
      close(opened);
      throw new Error(`${to} was connected too late`);
    });
  }

  #lost(which: L | undefined): void {
    if (this.#live !== which || this.#closed) return;
    this.#live = undefined;
    if (which !== undefined) this.#options.close(which);
    // Full jitter, so that a fleet does not reconnect all at once.
    const wait = Math.random() * Math.min(MAX_RETRY_MS, 20 * 2 ** this.#failures);
    this.#failures += 1;
    if (this.#failures > 1) this.#timer = timers.setTimeout(() => this.#begin(), wait).unref();
    else {
      diagnostics.warn(`rdcp: the connection to ${this.#options.to} was lost`);
      // Work waits for the first attempt: mostly it succeeds.
      this.#begin(wait);
    }
  }
}

export class DeadlineError extends Error {}

/**
 * Rejects with a {@link DeadlineError} when `work` does not settle in time. An answer that arrived while the event loop stood
 * still is in time.
 * @param work receives a signal that aborts at the deadline
 */
export async function within<T>(
  deadlineMs: number,
  work: (signal: AbortSignal) => Promise<T>,
  delay: Delay = unrefTimeout,
): Promise<T> {
  const { promise: deadline, reject } = Promise.withResolvers<never>();
  const over = new AbortController();
  const cancel = delay(deadlineMs, () => {
    // Sockets are read after timers and before this.
    timers
      .setImmediate(() => {
        reject(new DeadlineError(`the store did not answer within ${deadlineMs} ms`));
        over.abort();
      })
      .unref();
  });
  try {
    return await Promise.race([work(over.signal), deadline]);
  } finally {
    cancel();
  }
}
