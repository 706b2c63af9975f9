import { CallMeters, type CallMetersOptions } from './call-meters.ts';
import type { FleetMessage, Lease } from './fleet-messages.ts';
import { LineTap, type LineTapOptions } from './line-tap.ts';

/** Longest silence towards the process that asked, in milliseconds. */
const SILENCE_MS = 1000;
/** A shorter forecast would say nothing. In milliseconds. */
const SHORTEST_FORECAST_MS = 500;

export interface GuestOptions {
  readonly lease: Lease;
  readonly instanceId: string;
  /** Sends to the process that asked. */
  readonly send: (message: FleetMessage) => Promise<void>;
  /** On the monotonic clock. */
  readonly now: number;
}

/** Work of a guest. */
interface Task {
  tick(milliseconds: number): void;
  look(): void;
  /** The next message to send, if any. @param silent whether nothing was sent for a while */
  next(silent: boolean): FleetMessage | undefined;
  /** Called when sending that message failed. */
  failed?(): void;
  end(): void;
}

/** What another process of the fleet asks of this one, for as long as it renews its lease. */
export class Guest {
  readonly #options: GuestOptions;
  readonly #task: Task;
  renewedAt: number;
  #sentAt = Number.NEGATIVE_INFINITY;
  /** At most one message is on its way. Meanwhile lines wait, and are dropped beyond the tap's buffer. */
  #sending = false;

  constructor(options: GuestOptions, tapped: LineTapOptions & CallMetersOptions) {
    this.#options = options;
    this.renewedAt = options.now;
    const { lease, instanceId } = options;
    this.#task = lease.type === 'tail' ? lines(lease, instanceId, tapped) : forecast(lease, instanceId, tapped);
    this.#send(options.now);
  }

  renew(now: number): void {
    this.renewedAt = now;
    this.#task.look();
  }

  tick(milliseconds: number, now: number): void {
    this.#task.tick(milliseconds);
    this.#send(now);
  }

  /** Tells that this process shuts down. */
  leave(): void {
    const { lease, instanceId, send } = this.#options;
    send({ type: 'leave', id: lease.id, instance: instanceId }).catch(() => undefined);
  }

  end(): void {
    this.#task.end();
  }

  #send(now: number): void {
    if (this.#sending) return;
    const message = this.#task.next(now - this.#sentAt >= SILENCE_MS);
    if (message === undefined) return;
    this.#sentAt = now;
    this.#sending = true;
    this.#options
      .send(message)
      .catch(() => this.#task.failed?.())
      .finally(() => {
        this.#sending = false;
      });
  }
}

function lines(lease: Extract<Lease, { type: 'tail' }>, instance: string, tapped: LineTapOptions): Task {
  const { id, categories, tenant, rate, log } = lease;
  const tap = new LineTap(tapped, { categories, rate, log, ...(tenant !== null && { tenantId: tenant }) });
  /** By it the reader counts what did not arrive. A message may arrive although sending it failed, so that is not counted here. */
  let before = 0;
  return {
    tick: (milliseconds) => tap.tick(milliseconds),
    look: () => tap.look(),
    next(silent) {
      const batch = tap.fetch();
      const { dropped } = batch;
      if (batch.lines.length === 0 && dropped === 0 && !silent) return undefined;
      const message: FleetMessage = { type: 'lines', id, instance, lines: [...batch.lines], dropped, before };
      before += batch.lines.length + dropped;
      return message;
    },
    end: () => tap.end(),
  };
}

function forecast(lease: Extract<Lease, { type: 'forecast' }>, instance: string, tapped: CallMetersOptions): Task {
  const { id, categories, tenant, milliseconds } = lease;
  const meters = new CallMeters(tapped, { categories, ...(tenant !== null && { tenantId: tenant }) });
  let left = milliseconds;
  let answered = milliseconds < SHORTEST_FORECAST_MS;
  return {
    tick(elapsed) {
      if (left <= 0) return;
      left -= elapsed;
      meters.tick(elapsed);
      if (left <= 0) meters.end();
    },
    look: () => meters.look(),
    next() {
      if (left > 0 || answered) return undefined;
      answered = true;
      return { type: 'measured', id, instance, ...writable(meters.result) };
    },
    failed() {
      answered = false;
    },
    end: () => meters.end(),
  };
}

function writable({ seconds, categories }: CallMeters['result']) {
  return { seconds, categories: { ...categories } };
}
