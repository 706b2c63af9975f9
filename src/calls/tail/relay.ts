import type { MessageStore } from '../../store/message-store.ts';
import { sumOfCounts } from '../../wire/call-counts.ts';
import { compileLineFilter } from '../../wire/line-filter.ts';
import type { TailCounts } from '../../wire/streams.ts';
import type { Clock, Schedule } from '../../wire/time/clock.ts';
import type { Part } from '../emit/selection.ts';
import type { WorkFollower } from '../work/match.ts';
import {
  type Answer,
  decodeFleetMessage,
  encodeFleetMessage,
  type FleetMessage,
  type Lease,
  selectionOf,
} from './fleet-messages.ts';
import { Guest, type GuestOptions } from './guest.ts';
import { PastLines } from './past.ts';
import type { CountsByCategory, LineReceiver, LineSpec, PastRequest, TapFilter } from './types.ts';

/** Interval in which lines are passed on, in milliseconds. */
const TICK_MS = 50;
/** Interval in which a lease is renewed, in milliseconds. */
const RENEW_MS = 1000;
/** A lease, or a process, that was silent for longer is gone: three renewals missed, plus a margin. In milliseconds. */
export const LEASE_MS = 3 * RENEW_MS + 500;
/** For so long a process counts what the reader of a tail misses by a lease that is not renewed, in milliseconds. */
const COUNTED_MS = 60_000;
/** Most taps of other processes. */
const MAX_GUESTS = 64;
/** A shorter forecast would measure nothing. In milliseconds. */
const SHORTEST_FORECAST_MS = 500;
/** The address of this process, in place of that of another one. */
const HERE = '';

export interface RelayOptions extends Omit<GuestOptions, 'now' | 'send' | 'sourceOf'> {
  /** Id of this process. */
  readonly instanceId: string;
  /** Reaches the other processes of the fleet. @default this process alone */
  readonly messages?: MessageStore | undefined;
  /** Whether this process gives its lines to others. */
  readonly tails: boolean;
  readonly work: WorkFollower;
  /** The logger of another library that makes the calls of a category. @default none */
  readonly sourceOf?: (category: string) => string | undefined;
  /** Called for every malformed message of another process. @default not reported */
  readonly malformed?: () => void;
  /** Whether a process, by its id, has one of these categories. @default every process may have them */
  readonly takesPart?: (instance: string, categories: readonly string[]) => boolean;
  readonly clock: Clock;
  readonly schedule: Schedule;
  readonly randomUUID: () => string;
}

/** A tail or a forecast that this process serves: every process of the fleet, this one included, works for it. */
interface ServedReader {
  readonly lease: () => Lease;
  hear(message: FleetMessage, from: string, now: number): void;
  /** Called at intervals. */
  tick?(now: number): void;
}

/** Ends what was begun. */
export interface Running {
  end(): void;
}

/** A tail in progress. */
export interface Tailing extends Running {
  readonly counts: TailCounts;
  /** Lines from before it began. `undefined` where none are asked for. */
  readonly past: PastLines | undefined;
  /** Lets live lines come, once the past was read. */
  live(): void;
}

/** A question to every process. */
export interface Asking<Type extends 'measured' | 'failed'> extends Running {
  /** Of the processes that have answered, this one included. */
  readonly answers: readonly Answer<Type>[];
}

/**
 * Taps this process and the others of its fleet. It asks them by a lease, renewed each second: when this process
 * is gone, they stop by themselves.
 */
export class Relay {
  readonly #options: RelayOptions;
  /** Tails and forecasts that this process serves, by id. */
  readonly #asked = new Map<string, ServedReader & { renewedAt: number }>();
  /** Work for a process that serves a tail or forecast, by its address and the id. */
  readonly #guests = new Map<string, Guest>();
  readonly #unsubscribe: (() => void) | undefined;
  #stop: (() => void) | undefined;
  #tickedAt = 0;
  #closed = false;

  constructor(options: RelayOptions) {
    this.#options = options;
    this.#unsubscribe = options.messages?.onMessage((message, from) => this.hear(message, from));
  }

  /**
   * Taps every process for lines until it is ended.
   * @param processes that are expected to have lines from before it began
   */
  tail(spec: LineSpec, receiver: LineReceiver, processes = 1): Tailing {
    const id = this.#options.randomUUID();
    const past =
      spec.since === undefined
        ? undefined
        : new PastLines(processes, this.#options.clock.monotonic(), (to, from, most) =>
            this.#askPage(to, { type: 'page', id, from, most }),
          );
    let { since } = spec;
    const senders = new Map<string, { readonly instance: string; at: number }>();
    /** Lines, dropped ones included, that each process has sent, also one that was gone for a while. */
    const counted = new Map<string, number>();
    /** What each process has counted last. */
    const counts = new Map<string, CountsByCategory>();
    const left = (from: string): void => {
      const sender = senders.get(from);
      if (!senders.delete(from)) return;
      receiver.instance({ id: sender!.instance, state: 'left' });
      past?.left(from);
    };
    const { end } = this.#ask(id, {
      lease: () => ({ type: 'tail', id, ...selectionOf(spec), rate: spec.rate, log: spec.log, since }),
      tick(now) {
        past?.tick(now);
        for (const [from, { at }] of senders) if (now - at > LEASE_MS) left(from);
      },
      hear: (message, from, now) => {
        if (message.type === 'leave') left(from);
        if (message.type !== 'lines' && message.type !== 'recorded') return;
        const { instance, lines } = message;
        const isNew = !senders.has(from);
        const count = lines.length + (message.type === 'lines' ? message.dropped : message.left + message.more);
        if (isNew && count === 0 && !this.#takesPart(instance, spec)) return;
        if (isNew) receiver.instance({ id: instance, state: 'joined' });
        senders.set(from, { instance, at: now });
        if (message.type === 'recorded') {
          past?.hear(from, message, now);
          return;
        }
        past?.joined(from);
        const { before } = message;
        const known = counted.get(from) ?? 0;
        // A later message has overtaken it, so its lines are counted as missing.
        if (!isNew && before > 0 && before < known) return;
        // A process that has forgotten the lease begins with none.
        const missing = before < known ? before : before - known;
        counted.set(from, before + lines.length + message.dropped);
        if (message.counts !== undefined) counts.set(from, message.counts);
        receiver.lines({ lines, dropped: message.dropped + missing });
      },
    });
    return {
      get counts() {
        const heard = [...counts.values()];
        return { instances: heard.length, categories: sumByCategory(spec.categories, heard) };
      },
      past,
      live: () => {
        since = undefined;
        this.#renew(id);
      },
      end,
    };
  }

  /** Measures in every process until it is ended. */
  measure(filter: TapFilter, milliseconds: number): Asking<'measured'> {
    const { clock } = this.#options;
    const began = clock.monotonic();
    const left = () => Math.max(1, milliseconds - (clock.monotonic() - began));
    return this.#askOnce<'measured'>(
      (id) => ({ type: 'forecast', id, ...selectionOf(filter), milliseconds: left() }),
      (message) => message.type === 'measured' && this.#counts(message, filter, Object.keys(message.categories)),
    );
  }

  /** Asks every process for work that failed or was slow, until it is ended. */
  failures(filter: TapFilter, { since, limit, all = false }: PastRequest): Asking<'failed'> {
    return this.#askOnce<'failed'>(
      (id) => ({ type: 'failures', id, ...selectionOf(filter), since, limit, all }),
      (message) => message.type === 'failed' && this.#counts(message, filter, message.works),
    );
  }

  /** Whether the answer of a process counts: it has something, or takes part. */
  #counts({ instance }: { readonly instance: string }, filter: TapFilter, found: readonly unknown[]): boolean {
    return found.length > 0 || this.#takesPart(instance, filter);
  }

  #askOnce<Type extends 'measured' | 'failed'>(
    leaseOf: (id: string) => Lease,
    isAnswer: (message: FleetMessage) => boolean,
  ): Asking<Type> {
    const id = this.#options.randomUUID();
    const answers = new Map<string, Answer<Type>>();
    const { end } = this.#ask(id, {
      lease: () => leaseOf(id),
      hear(message, from) {
        if (isAnswer(message)) answers.set(from, message as Answer<Type>);
      },
    });
    return {
      get answers() {
        return [...answers.values()];
      },
      end,
    };
  }

  /**
   * @param prefix of the fields of the request
   * @throws {RdcpError} `RDCP_MALFORMED_REQUEST` for what cannot be matched or evaluated
   */
  async check({ match, filter }: Part, prefix = ''): Promise<void> {
    const { work, random } = this.#options;
    if (match !== undefined) work.check(match, `${prefix}target.match`);
    if (filter !== undefined) await compileLineFilter(filter, random, `${prefix}filter`);
  }

  /** Handles a message of another process. */
  hear(text: string, from: string): void {
    if (this.#closed) return;
    const message = decodeFleetMessage(text, () => this.#options.malformed?.());
    if (message === undefined) return;
    if (message.type === 'tail' || message.type === 'forecast' || message.type === 'failures')
      this.#lease(message, from);
    else if (message.type === 'page') this.#guests.get(guestKey(from, message.id))?.ask(message);
    else if (message.type === 'release') this.#endGuest(guestKey(from, message.id));
    else this.#hear(message, from);
  }

  close(): void {
    this.#closed = true;
    this.#unsubscribe?.();
    for (const id of [...this.#asked.keys()]) this.#release(id);
    for (const [key, guest] of this.#guests) {
      guest.leave();
      this.#endGuest(key);
    }
  }

  #hear(message: Exclude<FleetMessage, Lease>, from: string): void {
    this.#asked.get(message.id)?.hear(message, from, this.#options.clock.monotonic());
  }

  /** A process without these categories answers too, because it may get them later. */
  #takesPart(instance: string, { categories }: TapFilter): boolean {
    return this.#options.takesPart?.(instance, categories) ?? true;
  }

  #ask(id: string, asked: ServedReader): Running {
    const lease = asked.lease();
    this.#asked.set(id, { ...asked, renewedAt: this.#options.clock.monotonic() });
    this.#admit(lease, HERE, async (message) => this.#hear(message as Exclude<FleetMessage, Lease>, HERE));
    this.#send(lease);
    return { end: () => this.#release(id) };
  }

  #release(id: string): void {
    if (!this.#asked.delete(id)) return;
    this.#send({ type: 'release', id });
    this.#endGuest(guestKey(HERE, id));
  }

  #renew(id: string): void {
    const asked = this.#asked.get(id);
    if (asked === undefined) return;
    const now = this.#options.clock.monotonic();
    const lease = asked.lease();
    asked.renewedAt = now;
    this.#send(lease);
    this.#guests.get(guestKey(HERE, id))?.renew(now, lease);
  }

  #askPage(to: string, page: Extract<FleetMessage, { type: 'page' }>): void {
    if (to === HERE) this.#guests.get(guestKey(HERE, page.id))?.ask(page);
    else this.#send(page, to);
  }

  /** A message that is lost is repeated, or the lease ends. @param to one process. @default all */
  #send(message: FleetMessage, to?: string): void {
    this.#options.messages?.send(encodeFleetMessage(message), to).catch(() => undefined);
  }

  #lease(lease: Lease, from: string): void {
    const { messages, tails, clock } = this.#options;
    const known = this.#guests.get(guestKey(from, lease.id));
    if (known !== undefined) {
      known.renew(clock.monotonic(), lease);
      return;
    }
    if (messages === undefined) return;
    if (lease.type === 'forecast' ? lease.milliseconds < SHORTEST_FORECAST_MS : !tails) return;
    if (this.#guests.size - this.#asked.size >= MAX_GUESTS && !this.#endSilent()) return;
    this.#admit(lease, from, (message) => messages.send(encodeFleetMessage(message), from));
  }

  #admit(lease: Lease, from: string, send: (message: FleetMessage) => Promise<void>): void {
    const { clock } = this.#options;
    const options = { ...this.#options, now: () => clock.now(), send };
    this.#guests.set(guestKey(from, lease.id), new Guest(lease, options, clock.monotonic()));
    this.#start();
  }

  #endGuest(key: string): void {
    this.#guests.get(key)?.end();
    this.#guests.delete(key);
    if (this.#asked.size > 0 || this.#guests.size > 0) return;
    this.#stop?.();
    this.#stop = undefined;
  }

  /** Makes room for a guest. Returns whether there was a silent one. */
  #endSilent(): boolean {
    const now = this.#options.clock.monotonic();
    const silent = [...this.#guests].find(([, { renewedAt }]) => now - renewedAt > LEASE_MS);
    if (silent !== undefined) this.#endGuest(silent[0]);
    return silent !== undefined;
  }

  #start(): void {
    if (this.#stop !== undefined) return;
    const { clock, schedule } = this.#options;
    this.#tickedAt = clock.monotonic();
    this.#stop = schedule(TICK_MS, () => this.#tick());
  }

  #tick(): void {
    const now = this.#options.clock.monotonic();
    const elapsed = now - this.#tickedAt;
    this.#tickedAt = now;
    for (const id of this.#asked.keys()) this.#guests.get(guestKey(HERE, id))?.renew(now);
    for (const [key, guest] of [...this.#guests]) {
      const silence = now - guest.renewedAt;
      if (silence > (guest.counts ? COUNTED_MS : LEASE_MS)) this.#endGuest(key);
      else guest.tick(elapsed, now, silence > LEASE_MS);
    }
    for (const [id, asked] of [...this.#asked]) {
      asked.tick?.(now);
      if (now - asked.renewedAt >= RENEW_MS) this.#renew(id);
    }
  }
}

/** @param all of the processes */
function sumByCategory(names: readonly string[], all: readonly CountsByCategory[]): CountsByCategory {
  const summed = names.flatMap((name) => {
    const each = all.flatMap((counts) => (Object.hasOwn(counts, name) ? counts[name]! : []));
    return each.length === 0 ? [] : [[name, sumOfCounts(each)] as const];
  });
  return Object.fromEntries(summed);
}

function guestKey(from: string, id: string): string {
  return `${from} ${id}`;
}
