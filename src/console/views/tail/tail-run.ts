import { isRdcpError } from '../../../client.ts';
import type { TailEndReason } from '../../../protocol/messages.ts';
import type { TailEvent, TailLine } from '../../../protocol/streams.ts';
import { type Problem, problemOf } from '../../state/problem.ts';
import { retryDelay } from '../../state/retry-delay.ts';
import type { Note } from './line-log.ts';

export interface TailSettings {
  readonly categories: readonly string[];
  /** For how long, in seconds. */
  readonly seconds: number;
  /** Most lines a second. @default the server's */
  readonly rate?: number | undefined;
  /** Whether the lines also go to the service's own outputs. */
  readonly log: boolean;
}

export type TailPhase =
  | { readonly phase: 'idle' }
  | { readonly phase: 'opening' | 'running'; readonly deadline: number }
  /** The connection broke. It is tried again at `retryAt`. */
  | { readonly phase: 'lost'; readonly deadline: number; readonly retryAt: number; readonly problem: Problem }
  | { readonly phase: 'ended'; readonly reason: TailEndReason | 'stopped' }
  | { readonly phase: 'failed'; readonly problem: Problem };

export interface TailRunParts {
  readonly open: (settings: TailSettings, signal: AbortSignal) => AsyncIterable<TailEvent>;
  readonly line: (line: TailLine) => void;
  readonly note: (note: Note) => void;
  readonly changed: (phase: TailPhase) => void;
  /** In milliseconds since the epoch. */
  readonly now: () => number;
  readonly after: (milliseconds: number, task: () => void) => () => void;
  readonly random: () => number;
}

/** One tail, from its start to its end, over as many connections as it takes. Times are in milliseconds since the epoch. */
export class TailRun {
  readonly #parts: TailRunParts;
  readonly #settings: TailSettings;
  #attempt: AbortController | undefined;
  #cancelTimer: (() => void) | undefined;
  /** When it is over; known from the first time that the server has opened it. */
  #deadline: number | undefined;
  #failures = 0;

  constructor(settings: TailSettings, parts: TailRunParts) {
    this.#settings = settings;
    this.#parts = parts;
    void this.#connect();
  }

  /** Closes the connection, which ends the tail on the server. */
  stop(): void {
    if (!this.#abandon()) return;
    this.#parts.note({ type: 'ended', reason: 'stopped' });
    this.#parts.changed({ phase: 'ended', reason: 'stopped' });
  }

  /** Tries at once where it waits for the next attempt. */
  wake(): void {
    if (this.#cancelTimer !== undefined) void this.#connect();
  }

  /** @returns whether there was something to end */
  #abandon(): boolean {
    const was = this.#attempt !== undefined || this.#cancelTimer !== undefined;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#attempt?.abort();
    this.#attempt = undefined;
    return was;
  }

  async #connect(): Promise<void> {
    this.#abandon();
    const { open, now, changed } = this.#parts;
    const deadline = this.#deadline ?? now() + this.#settings.seconds * 1000;
    const seconds = Math.ceil((deadline - now()) / 1000);
    if (seconds <= 0) {
      this.#ended('expired');
      return;
    }
    const attempt = new AbortController();
    this.#attempt = attempt;
    if (this.#deadline === undefined) changed({ phase: 'opening', deadline });
    let failure: unknown = new Error('the stream ended');
    try {
      for await (const event of open({ ...this.#settings, seconds }, attempt.signal)) {
        if (this.#attempt !== attempt) return;
        if (event.event === 'end') {
          this.#ended(event.data.reason);
          return;
        }
        this.#receive(event, deadline);
      }
    } catch (error) {
      failure = error;
    }
    if (this.#attempt === attempt) this.#failed(failure, deadline);
  }

  #receive(event: Exclude<TailEvent, { event: 'end' }>, deadline: number): void {
    const { line, note, changed } = this.#parts;
    if (event.event === 'line') {
      this.#failures = 0;
      line(event.data);
    } else if (event.event === 'dropped') note({ type: 'dropped', count: event.data.count });
    else if (event.event === 'instance') note({ type: event.data.state, instance: event.data.id });
    else if (event.event === 'open') {
      const { categories, instances } = event.data;
      note({ type: 'began', categories, instances, again: this.#deadline !== undefined });
      this.#deadline = deadline;
      changed({ phase: 'running', deadline });
    }
  }

  #ended(reason: TailEndReason): void {
    this.#abandon();
    this.#parts.note({ type: 'ended', reason });
    this.#parts.changed({ phase: 'ended', reason });
  }

  /** What was running is tried again; what never began, and what is no longer allowed, is over. */
  #failed(error: unknown, deadline: number): void {
    this.#abandon();
    const { now, after, random, note, changed } = this.#parts;
    const problem = problemOf(error, now());
    if (this.#deadline === undefined || isFinal(error)) {
      if (this.#deadline !== undefined) note({ type: 'ended', reason: 'failed' });
      changed({ phase: 'failed', problem });
      return;
    }
    if (this.#failures === 0) note({ type: 'lost', why: problem.title });
    this.#failures += 1;
    const askedForMs = problem.retryAt === undefined ? undefined : problem.retryAt - now();
    const delay = retryDelay({ failures: this.#failures, askedForMs }, random());
    this.#cancelTimer = after(delay, () => void this.#connect());
    changed({ phase: 'lost', deadline, retryAt: now() + delay, problem });
  }
}

/** Whether another attempt would be answered the same way. A limit is not: the server may still count the lost connection. */
function isFinal(error: unknown): boolean {
  if (!isRdcpError(error) || error.code === 'RDCP_UNAVAILABLE' || error.code === 'RDCP_TIMEOUT') return false;
  return error.status < 500 && error.code !== 'RDCP_RATE_LIMITED';
}
