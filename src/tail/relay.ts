import type { Clock, Schedule } from '../clock.ts';
import type { MessageStore } from '../store/message-store.ts';
import { CallMeters, type CallMetersOptions } from './call-meters.ts';
import { type FleetMessage, forecastLease, type Lease, parseFleetMessage, tailLease } from './fleet-messages.ts';
import { Guest } from './guest.ts';
import { LineTap } from './line-tap.ts';
import type { LineReceiver, LineSpec, ProcessForecast, TapFilter } from './types.ts';

/** Interval in which lines are passed on, in milliseconds. */
const TICK_MS = 50;
/** Interval in which a lease is renewed, in milliseconds. */
const RENEW_MS = 1000;
/** A lease, or a process, that was silent for longer is gone: three renewals missed, plus a margin. In milliseconds. */
export const LEASE_MS = 3 * RENEW_MS + 500;
/** Most taps of other processes. */
const MAX_GUESTS = 64;

export interface RelayOptions extends Omit<CallMetersOptions, 'now'> {
  /** Id of this process. */
  readonly instanceId: string;
  /** Reaches the other processes of the fleet. @default this process alone */
  readonly messages?: MessageStore | undefined;
  /** Whether this process gives its lines to others. */
  readonly tails: boolean;
  /** The logger of another library that makes the calls of a category. @default none */
  readonly sourceOf?: (category: string) => string | undefined;
  readonly clock: Clock;
  readonly schedule: Schedule;
  readonly randomUUID: () => string;
}

/** Something that another process wants from this one, or this one from the others. */
interface Asked {
  readonly lease: () => Lease;
  renewedAt: number;
  tick(milliseconds: number, now: number): void;
  hear(message: FleetMessage, from: string, now: number): void;
}

/** Ends what was begun. */
export interface Running {
  end(): void;
}

/** A forecast in progress. */
export interface Measuring extends Running {
  /** What this process has measured so far. */
  readonly own: ProcessForecast;
  /** What the others have measured, once they are done. */
  readonly others: readonly ProcessForecast[];
}

/**
 * Taps this process and the others of its fleet. What is asked of other processes is a lease, renewed each second: when
 * this process is gone, they stop by themselves.
 */
export class Relay {
  readonly #options: RelayOptions;
  /** What this process asks of the others, by id. */
  readonly #asked = new Map<string, Asked>();
  /** What others ask of this process, by address and id. */
  readonly #guests = new Map<string, Guest>();
  #stop: (() => void) | undefined;
  #tickedAt = 0;
  #closed = false;

  constructor(options: RelayOptions) {
    this.#options = options;
  }

  /** Taps every process for lines until it is ended. */
  tail(spec: LineSpec, receiver: LineReceiver): Running {
    const { instanceId, randomUUID, clock } = this.#options;
    const id = randomUUID();
    const tap = new LineTap(this.#tapOptions, spec);
    const heard = new Map<string, { readonly instance: string; at: number }>();
    /** Lines, dropped ones included, that each process has told, also one that was gone for a while. */
    const told = new Map<string, number>();
    const left = (from: string): void => {
      const process = heard.get(from);
      if (process === undefined) return;
      heard.delete(from);
      receiver.instance({ id: process.instance, state: 'left' });
    };
    receiver.instance({ id: instanceId, state: 'joined' });
    this.#ask(id, {
      lease: () => tailLease(id, spec),
      renewedAt: clock.monotonic(),
      tick(milliseconds, now) {
        tap.tick(milliseconds);
        tap.look();
        receiver.lines(tap.fetch());
        for (const [from, { at }] of heard) if (now - at > LEASE_MS) left(from);
      },
      hear(message, from, now) {
        if (message.type === 'leave') left(from);
        if (message.type !== 'lines') return;
        const process = heard.get(from);
        if (process === undefined) {
          heard.set(from, { instance: message.instance, at: now });
          receiver.instance({ id: message.instance, state: 'joined' });
        } else process.at = now;
        const { lines, before } = message;
        const known = told.get(from) ?? 0;
        // A process whose lease had ended begins with none.
        const missing = before < known ? before : before - known;
        const dropped = message.dropped + missing;
        told.set(from, before + lines.length + message.dropped);
        receiver.lines({ lines, dropped });
      },
    });
    return {
      end: () => {
        tap.end();
        this.#release(id);
      },
    };
  }

  /** Measures in every process until it is ended. */
  measure(filter: TapFilter, milliseconds: number): Measuring {
    const { randomUUID, clock } = this.#options;
    const id = randomUUID();
    const meters = new CallMeters(this.#tapOptions, filter);
    const began = clock.monotonic();
    const others = new Map<string, ProcessForecast>();
    this.#ask(id, {
      lease: () => forecastLease(id, filter, Math.max(1, milliseconds - (clock.monotonic() - began))),
      renewedAt: began,
      tick(elapsed) {
        meters.look();
        meters.tick(elapsed);
      },
      hear(message, from) {
        if (message.type === 'measured') others.set(from, message);
      },
    });
    return {
      get own() {
        return meters.result;
      },
      get others() {
        return [...others.values()];
      },
      end: () => {
        meters.end();
        this.#release(id);
      },
    };
  }

  /** Handles a message of another process. */
  hear(text: string, from: string): void {
    const message = parseFleetMessage(text);
    if (message === undefined || this.#closed) return;
    const now = this.#options.clock.monotonic();
    if (message.type === 'tail' || message.type === 'forecast') this.#lease(message, from, now);
    else if (message.type === 'release') this.#endGuest(guestKey(from, message.id));
    else this.#asked.get(message.id)?.hear(message, from, now);
  }

  close(): void {
    this.#closed = true;
    for (const [key, guest] of this.#guests) {
      guest.leave();
      this.#endGuest(key);
    }
    for (const id of [...this.#asked.keys()]) this.#release(id);
  }

  get #tapOptions() {
    const { clock } = this.#options;
    return { ...this.#options, now: () => clock.now() };
  }

  #ask(id: string, asked: Asked): void {
    this.#asked.set(id, asked);
    this.#start();
    this.#send(asked.lease());
  }

  #release(id: string): void {
    if (!this.#asked.delete(id)) return;
    this.#send({ type: 'release', id });
    this.#stopWhenIdle();
  }

  /** A message that is lost is repeated, or the lease ends. */
  #send(message: FleetMessage): void {
    this.#options.messages?.send(JSON.stringify(message)).catch(() => undefined);
  }

  #lease(lease: Lease, from: string, now: number): void {
    const key = guestKey(from, lease.id);
    const known = this.#guests.get(key);
    if (known !== undefined) {
      known.renew(now);
      return;
    }
    const { messages, instanceId, tails } = this.#options;
    if (messages === undefined || this.#guests.size >= MAX_GUESTS) return;
    if (lease.type === 'tail' && !tails) return;
    const send = (message: FleetMessage) => messages.send(JSON.stringify(message), from);
    this.#guests.set(key, new Guest({ lease, instanceId, send, now }, this.#tapOptions));
    this.#start();
  }

  #endGuest(key: string): void {
    this.#guests.get(key)?.end();
    this.#guests.delete(key);
    this.#stopWhenIdle();
  }

  #start(): void {
    if (this.#stop !== undefined) return;
    const { clock, schedule } = this.#options;
    this.#tickedAt = clock.monotonic();
    this.#stop = schedule(TICK_MS, () => this.#tick());
  }

  #stopWhenIdle(): void {
    if (this.#asked.size > 0 || this.#guests.size > 0) return;
    this.#stop?.();
    this.#stop = undefined;
  }

  #tick(): void {
    const now = this.#options.clock.monotonic();
    const elapsed = now - this.#tickedAt;
    this.#tickedAt = now;
    for (const [key, guest] of [...this.#guests]) {
      if (now - guest.renewedAt > LEASE_MS) this.#endGuest(key);
      else guest.tick(elapsed, now);
    }
    for (const asked of [...this.#asked.values()]) {
      asked.tick(elapsed, now);
      if (now - asked.renewedAt < RENEW_MS) continue;
      asked.renewedAt = now;
      this.#send(asked.lease());
    }
  }
}

function guestKey(from: string, id: string): string {
  return `${from} ${id}`;
}
