import type { Choice } from '../../wire/target.ts';
import { CallMeters, type CallMetersOptions } from './call-meters.ts';
import { type FailuresOptions, ownFailures } from './failures.ts';
import { type FleetMessage, type Lease, tapFilterOf, type WantedPage } from './fleet-messages.ts';
import { LineTap, type LineTapOptions } from './line-tap.ts';
import { RecordedPages, type RecordedPagesOptions } from './recorded-pages.ts';
import type { CountsByCategory } from './types.ts';

/** Counts are sent as often as a second allows for so many categories, until there is a line. */
const COUNTED_PER_SECOND = 200;
/** Only so many of them have the names of attributes, so that a message is never too long. */
const NAMED_CATEGORIES = 100;
/** Longest silence towards the process that asked, in milliseconds. */
const SILENCE_MS = 1000;

export interface GuestOptions extends LineTapOptions, CallMetersOptions, RecordedPagesOptions, FailuresOptions {
  /** Sends to the process that asked. */
  readonly send: (message: FleetMessage) => Promise<void>;
  /** Begins something for as long as this process is chosen. Returns a function that ends it. */
  readonly whileChosen: (choice: Choice, begin: () => () => void) => () => void;
}

/** Work of a guest. */
interface Task {
  /** @param suspended whether the process that asked is silent */
  tick?(milliseconds: number, suspended: boolean): void;
  look?(): void;
  /** The next message to send, if any. @param silent whether nothing was sent for a while */
  next(silent: boolean): FleetMessage | undefined;
  /** Called when sending that message failed. */
  failed?(): void;
  /** The process that asked wants recorded lines. */
  ask?(page: WantedPage): void;
  /** The process that asked has read all recorded lines. */
  live?(): void;
  end?(): void;
}

/** The work that a process of the fleet, often this one itself, asks of this one, for as long as it renews its lease. */
export class Guest {
  readonly #send: (message: FleetMessage) => Promise<void>;
  readonly #leaving: FleetMessage;
  readonly #end: () => void;
  readonly #sent: Progress;
  /** Whether it counts what the process that asked misses while that one is silent. */
  readonly counts: boolean;
  /** `undefined` while this process is not chosen. */
  #task: Task | undefined;
  renewedAt: number;
  #sentAt = Number.NEGATIVE_INFINITY;
  /** At most one message is on its way. Meanwhile lines wait, and are dropped beyond the tap's buffer. */
  #sending = false;

  /** @param now on the monotonic clock */
  constructor(lease: Lease, options: GuestOptions, now: number) {
    this.#send = options.send;
    this.#leaving = { type: 'leave', id: lease.id, instance: options.instanceId };
    this.counts = lease.type === 'tail';
    this.renewedAt = now;
    const sent = { lines: 0, isLive: lease.type !== 'tail' || lease.since === undefined };
    this.#sent = sent;
    this.#end = options.whileChosen(lease, () => {
      if (lease.type === 'tail') this.#task = lines(lease, options, sent);
      else this.#task = lease.type === 'forecast' ? forecast(lease, options) : answering(ownFailures(lease, options));
      return () => {
        this.#task?.end?.();
        this.#task = undefined;
      };
    });
    this.#sendNext(now);
  }

  /** @param lease a message of another process. @default unchanged */
  renew(now: number, lease?: Lease): void {
    this.renewedAt = now;
    this.#task?.look?.();
    if (lease?.type === 'tail' && lease.since === undefined) this.#live();
  }

  ask(page: WantedPage): void {
    this.#task?.ask?.(page);
  }

  /** @param suspended whether the lease was not renewed in time */
  tick(milliseconds: number, now: number, suspended: boolean): void {
    this.#task?.tick?.(milliseconds, suspended);
    if (!suspended) this.#sendNext(now);
  }

  /** Sends what waits, and announces that this process shuts down. */
  leave(): void {
    const last = this.#task?.next(false);
    if (last !== undefined) this.#send(last).catch(() => undefined);
    this.#send(this.#leaving).catch(() => undefined);
  }

  end(): void {
    this.#end();
  }

  #live(): void {
    this.#sent.isLive = true;
    this.#task?.live?.();
  }

  #sendNext(now: number): void {
    if (this.#sending) return;
    const message = this.#task?.next(now - this.#sentAt >= SILENCE_MS);
    if (message === undefined) return;
    this.#sentAt = now;
    this.#sending = true;
    this.#send(message)
      .catch(() => this.#task?.failed?.())
      .finally(() => {
        this.#sending = false;
      });
  }
}

/** What was sent, also in the times before that this process was chosen. */
interface Progress {
  /** Live ones, dropped ones included. */
  lines: number;
  /** Whether live lines are sent; before, they wait until all recorded ones were read. */
  isLive: boolean;
}

function lines(lease: Extract<Lease, { type: 'tail' }>, options: GuestOptions, sent: Progress): Task {
  const { id, rate, log } = lease;
  const since = sent.isLive ? undefined : lease.since;
  const pages = since === undefined ? undefined : new RecordedPages(lease, options, since);
  const tap = new LineTap(options, { ...tapFilterOf(lease), rate, log, since }, () => pages?.read());
  let untilCounted = 0;
  let counted = '';
  /** Counts for a reader that has not received a line. */
  const counts = () => {
    if (sent.lines > 0 || untilCounted > 0) return undefined;
    const all = Object.entries(tap.counts);
    untilCounted = Math.max(SILENCE_MS, (all.length * 1000) / COUNTED_PER_SECOND);
    const shown = all.map(([name, each], at) => [name, at < NAMED_CATEGORIES ? each : { ...each, attributes: [] }]);
    const text = JSON.stringify(shown);
    if (text === counted) return undefined;
    counted = text;
    return { counts: Object.fromEntries(shown) as CountsByCategory };
  };
  return {
    tick(milliseconds, suspended) {
      untilCounted -= milliseconds;
      tap.suspended = suspended;
      tap.tick(milliseconds);
    },
    look: () => tap.look(),
    live: () => pages?.end(),
    ask: (page) => pages?.ask(page),
    next(silent) {
      const { instanceId: instance } = options;
      const page = pages?.next();
      if (page !== undefined) return { type: 'recorded', id, instance, ...page };
      if (!sent.isLive) return silent ? { type: 'lines', id, instance, lines: [], dropped: 0, before: 0 } : undefined;
      const batch = tap.fetch();
      const { dropped } = batch;
      const news = counts();
      if (batch.lines.length === 0 && dropped === 0 && !silent && news === undefined) return undefined;
      // Lets the reader count what did not arrive. A message may arrive although sending it failed, so that is not counted here.
      const before = sent.lines;
      sent.lines += batch.lines.length + dropped;
      return { type: 'lines', id, instance, lines: [...batch.lines], dropped, before, ...news };
    },
    failed() {
      counted = '';
      pages?.failed();
    },
    end() {
      const { lines, dropped } = tap.fetch();
      sent.lines += lines.length + dropped;
      tap.end();
    },
  };
}

function forecast(lease: Extract<Lease, { type: 'forecast' }>, options: GuestOptions): Task {
  const { id, milliseconds } = lease;
  const meters = new CallMeters(options, tapFilterOf(lease));
  let left = milliseconds;
  const measured = () =>
    left > 0 ? undefined : ({ type: 'measured', id, instance: options.instanceId, ...meters.result } as const);
  return {
    ...answering(measured),
    tick(elapsed) {
      if (left <= 0) return;
      left -= elapsed;
      meters.tick(elapsed);
      if (left <= 0) meters.end();
    },
    look: () => meters.look(),
    end: () => meters.end(),
  };
}

/** Sends an answer once it is there. */
function answering(answer: () => FleetMessage | undefined): Task {
  let answered = false;
  return {
    next() {
      const message = answered ? undefined : answer();
      if (message !== undefined) answered = true;
      return message;
    },
    failed() {
      answered = false;
    },
  };
}
