import { createHmac } from 'node:crypto';
import type { Condition } from '../../otel/report/conditions.ts';
import type { Reporter } from '../../otel/report/reporter.ts';
import { settingProblem } from '../../wire/errors.ts';
import { given } from '../../wire/json-text.ts';
import type { Delivery, NotificationReceiver } from '../../wire/messages.ts';
import type { Answer, OutgoingRequest } from '../../wire/net/request.ts';
import type { Clock, Delay } from '../../wire/time/clock.ts';
import { withDeadline } from '../../wire/time/deadline.ts';
import { retryAfterMs, retryDelay } from '../../wire/time/retry-delay.ts';
import { timers } from '../../wire/time/timers.ts';
import { timestamp } from '../../wire/time.ts';

/** Events that wait, at most, and the bytes of their bodies. Beyond that the oldest are dropped. */
const MAX_EVENTS = 1000;
const MAX_BYTES = 1024 * 1024;
const TIMEOUT_MS = 10_000;
const LONGEST_PAUSE_MS = 5 * 60_000;
/** A longer pause, which the receiver requestedMs for, is reported at once. */
const PAUSE_TO_REPORT_MS = 10_000;
const MAX_DELIVERIES = 20;
/** Attempts for an event that the receiver refuses itself, by a status of 4xx. */
const ATTEMPTS_WHEN_REFUSED = 5;
/** Failures in a row from which the condition holds: one alone is over a second later. */
const FAILURES_TO_REPORT = 2;
/** Longest time to send what waits at the close, in milliseconds. */
const FLUSH_MS = 3000;

/** Statuses of 4xx that are about the moment, not about the event: request timeout, too early, too many requests. */
const TEMPORARY_REFUSALS: readonly number[] = [408, 425, 429];
/** The receiver is gone for good (Standard Webhooks). */
const GONE = 410;

export type DropReason = 'queue_full' | 'refused' | 'gone' | 'closed';

interface WebhookParts {
  readonly url: string;
  /** Keys of the signatures; none for a receiver that verifies nothing. */
  readonly keys: readonly Buffer[];
  readonly send: (request: OutgoingRequest) => Promise<Omit<Answer, 'text'>>;
  readonly clock: Pick<Clock, 'now'>;
  readonly delay: Delay;
  /** Returns a number from 0 up to 1, which spreads the retries of several processes. */
  readonly random: () => number;
  readonly condition: Condition;
  readonly reporter: Pick<Reporter, 'warn'>;
  readonly delivered: () => void;
  readonly dropped: (reason: DropReason) => void;
  /** Makes the body of an event which says that others were dropped. */
  readonly lossBody: (loss: Loss) => string;
  readonly randomUUID: () => string;
}

/** Events that were dropped because too many waited. */
export interface Loss {
  readonly count: number;
  /** When the first of them was dropped; milliseconds since the epoch. */
  readonly since: number;
}

interface QueuedEvent {
  readonly id: string;
  readonly event: string;
  readonly body: string;
  readonly bytes: number;
  readonly loss?: Loss;
  attempts: number;
}

/** The outcome of an attempt; without a problem it was delivered. */
interface Outcome {
  readonly status?: number;
  readonly retryAfter?: string | undefined;
  readonly problem?: string;
}

/** Sends events to one receiver, one at a time and in order, and retries. Adding one never waits. */
export class Webhook {
  readonly #parts: WebhookParts;
  /** The URL may hold a secret, so messages show its host alone. */
  readonly #name: string;
  readonly #waiting: QueuedEvent[] = [];
  #attempting: AbortController | undefined;
  #bytes = 0;
  #failures = 0;
  /** Dropped since everything that waited was last delivered. */
  #dropped = 0;
  /** Dropped events that the receiver does not know of. */
  #loss: Loss | undefined;
  #problem: string | undefined;
  #resumesAt: number | undefined;
  /** Oldest first. */
  readonly #deliveries = new Map<string, Delivery>();
  #gone = false;
  #closing = false;
  #closed = false;
  #sending: Promise<void> | undefined;
  /** Ends the pause after a failure. */
  #resume: (() => void) | undefined;

  constructor(parts: WebhookParts) {
    this.#parts = parts;
    this.#name = new URL(parts.url).host;
  }

  get state(): NotificationReceiver {
    return {
      receiver: this.#name,
      status: this.#gone ? 'gone' : this.#problem === undefined ? 'ok' : 'failing',
      waiting: this.#waiting.length,
      dropped: this.#dropped,
      ...given({ problem: this.#problem }),
      ...(this.#resumesAt !== undefined && { nextAttemptAt: timestamp(this.#resumesAt) }),
      deliveries: [...this.#deliveries.values()].reverse(),
    };
  }

  /** @param id the same for every attempt, by which the receiver knows a repeat */
  add(id: string, body: string, event: string): void {
    if (this.#gone || this.#closed) {
      this.#drop(this.#gone ? 'gone' : 'closed');
      return;
    }
    this.#enqueue(queued(id, body, event));
    while (this.#waiting.length > MAX_EVENTS || this.#bytes > MAX_BYTES) this.#lose(this.#dequeue()!);
    this.#sending ??= this.#sendAll();
  }

  /** Sends what waits, for a bounded time and without further retries. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#resume?.();
    if (this.#sending !== undefined) await withDeadline(this.#sending, FLUSH_MS);
    this.#closed = true;
    this.#attempting?.abort();
    await this.#sending;
    const left = this.#waiting.length;
    if (left > 0) {
      const [what, were] = left === 1 ? ['1 notification', 'was'] : [`${left} notifications`, 'were'];
      this.#parts.reporter.warn(`${what} to ${this.#name} ${were} not delivered before the close`);
    }
    while (this.#dequeue() !== undefined) this.#drop('closed');
  }

  /** Sends in order until nothing waits, with a pause after each failure. Never rejects. */
  async #sendAll(): Promise<void> {
    // Not in the turn of the event loop that answers a control.
    await new Promise(timers.setImmediate);
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const outcome = await this.#attempt(next);
      if (outcome.problem !== undefined) {
        this.#failed(next, outcome);
        if (this.#closing || this.#gone) break;
        await this.#pause(outcome.retryAfter);
        continue;
      }
      this.#failures = 0;
      this.#problem = undefined;
      this.#note(next, { status: outcome.status });
      if (next.loss === undefined) this.#parts.delivered();
    }
    this.#sending = undefined;
    if (this.#problem !== undefined) return;
    this.#parts.condition.end(this.#dropped === 0 ? undefined : `${this.#dropped} were dropped`);
    this.#dropped = 0;
  }

  async #pause(retryAfter: string | undefined): Promise<void> {
    const { delay, random, clock } = this.#parts;
    const requestedMs = Math.min(LONGEST_PAUSE_MS, retryAfterMs(retryAfter, clock.now()) ?? 0);
    const failures = this.#failures;
    const wait = retryDelay({ failures, longestMs: LONGEST_PAUSE_MS, askedForMs: requestedMs, random: random() });
    if (requestedMs > PAUSE_TO_REPORT_MS) this.#problem += ` and asks to wait ${Math.ceil(requestedMs / 1000)} s`;
    if (failures >= FAILURES_TO_REPORT || requestedMs > PAUSE_TO_REPORT_MS) this.#report();
    this.#resumesAt = clock.now() + wait;
    await new Promise<void>((resolve) => {
      const cancel = delay(wait, resolve);
      this.#resume = () => {
        cancel();
        resolve();
      };
    });
    this.#resumesAt = undefined;
  }

  async #attempt({ id, body }: QueuedEvent): Promise<Outcome> {
    const { url, keys, send, clock, delay } = this.#parts;
    const attempting = new AbortController();
    this.#attempting = attempting;
    const cancelTimeout = delay(TIMEOUT_MS, () => attempting.abort());
    try {
      const signed = signedHeaders(keys, { id, seconds: Math.floor(clock.now() / 1000), body });
      const headers = { ...signed, 'Content-Type': 'application/json' };
      const answer = await send({ url, headers, body, maxBytes: 0, signal: attempting.signal });
      const { status } = answer;
      if (status >= 200 && status < 300) return { status };
      return { status, retryAfter: answer.headers['retry-after'], problem: `it answers with status ${status}` };
    } catch (error) {
      return { problem: `it ${settingProblem(error)}` };
    } finally {
      cancelTimeout();
      this.#attempting = undefined;
    }
  }

  #failed(event: QueuedEvent, { status, problem }: Outcome): void {
    this.#failures += 1;
    this.#problem = problem;
    event.attempts += 1;
    this.#note(event, { status, problem });
    if (status === GONE) {
      this.#gone = true;
      this.#parts.condition.begin(`notifications to ${this.#name} have ended: it answers with status ${GONE}`);
      this.#drop('gone');
      while (this.#dequeue() !== undefined) this.#drop('gone');
      return;
    }
    const refused = status !== undefined && status >= 400 && status < 500 && !TEMPORARY_REFUSALS.includes(status);
    if (!refused || event.attempts < ATTEMPTS_WHEN_REFUSED) this.#enqueue(event, 'first');
    else if (event.loss === undefined) this.#drop('refused');
  }

  /** An event that says what was dropped goes first: the oldest were dropped. */
  #next(): QueuedEvent | undefined {
    const loss = this.#loss;
    if (loss === undefined) return this.#dequeue();
    this.#loss = undefined;
    return { ...queued(this.#parts.randomUUID(), this.#parts.lossBody(loss), 'dropped'), loss };
  }

  /** Drops an event because too many wait. */
  #lose({ loss }: QueuedEvent): void {
    const { count, since } = loss ?? { count: 1, since: this.#parts.clock.now() };
    this.#loss = { count: count + (this.#loss?.count ?? 0), since: Math.min(since, this.#loss?.since ?? since) };
    if (loss === undefined) this.#drop('queue_full');
    this.#report();
  }

  #report(): void {
    const why = this.#problem === undefined ? '' : `: ${this.#problem}`;
    const effect = this.#loss === undefined ? 'fail' : 'are dropped, because too many wait';
    this.#parts.condition.begin(`notifications to ${this.#name} ${effect}${why}`);
  }

  #note(
    { id, event, attempts }: QueuedEvent,
    outcome: { status?: number | undefined; problem?: string | undefined },
  ): void {
    const { status, problem } = outcome;
    this.#deliveries.delete(id);
    this.#deliveries.set(id, {
      id,
      event,
      timestamp: timestamp(this.#parts.clock.now()),
      outcome: problem === undefined ? 'delivered' : 'failed',
      attempts: problem === undefined ? attempts + 1 : attempts,
      ...given({ status, problem }),
    });
    const [oldest] = this.#deliveries.keys();
    if (this.#deliveries.size > MAX_DELIVERIES && oldest !== undefined) this.#deliveries.delete(oldest);
  }

  #enqueue(event: QueuedEvent, place: 'first' | 'last' = 'last'): void {
    if (place === 'first') this.#waiting.unshift(event);
    else this.#waiting.push(event);
    this.#bytes += event.bytes;
  }

  #dequeue(): QueuedEvent | undefined {
    const event = this.#waiting.shift();
    if (event !== undefined) this.#bytes -= event.bytes;
    return event;
  }

  #drop(reason: DropReason): void {
    this.#dropped += 1;
    this.#parts.dropped(reason);
  }
}

function queued(id: string, body: string, event: string): QueuedEvent {
  return { id, event, body, bytes: Buffer.byteLength(body), attempts: 0 };
}

const PREFIX = 'whsec_';

/** Returns the key of a secret, `whsec_` and base64; `undefined` if it is malformed or not of 24 to 64 bytes. */
export function keyOfSecret(secret: string): Buffer | undefined {
  if (!secret.startsWith(PREFIX)) return undefined;
  const encoded = secret.slice(PREFIX.length);
  const key = Buffer.from(encoded, 'base64');
  const isBase64 = key.toString('base64').replace(/=+$/, '') === encoded.replace(/=+$/, '');
  return isBase64 && key.length >= 24 && key.length <= 64 ? key : undefined;
}

/** The headers of an attempt (Standard Webhooks): one signature by each key. */
export function signedHeaders(
  keys: readonly Buffer[],
  { id, seconds, body }: { readonly id: string; readonly seconds: number; readonly body: string },
): Record<string, string> {
  const content = `${id}.${seconds}.${body}`;
  const signatures = keys.map((key) => `v1,${createHmac('sha256', key).update(content).digest('base64')}`);
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    ...(signatures.length > 0 && { 'webhook-signature': signatures.join(' ') }),
  };
}
