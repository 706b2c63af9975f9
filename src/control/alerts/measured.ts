import { createEventLoopDelay } from '../../calls/metrics/event-loop-delay.ts';
import type { WorkOutcomes } from '../../calls/work/outcomes.ts';
import { followUncaught } from '../../calls/work/uncaught.ts';
import { escapeUnprintable } from '../../wire/printable.ts';
import { parseWorkDuration } from '../../wire/target.ts';
import { typeOfThrown } from '../../wire/thrown.ts';
import type { Clock, Schedule } from '../../wire/time/clock.ts';
import { formatDuration } from '../../wire/time.ts';
import { AlertControls, type AlertControlsOptions, type AlertRule, type Notice } from './alert-controls.ts';

interface MeasuredAlertsOptions extends AlertControlsOptions, Omit<TriggerOptions, 'clock'> {
  readonly rules: readonly AlertRule[];
  /** The processes that switch together: those that share a store. */
  readonly group: string;
  readonly clock: Clock;
  readonly schedule: Schedule;
  readonly report: (error: unknown) => void;
}

/** Interval in which the measurements are compared with the rules, in milliseconds. */
const TICK_MS = 1000;
/** How often a rule that is exceeded for long is tried again: another process may have ended it, or the store was away. */
const REPEAT_MS = 60_000;

/** Switches what rules say by what this process measures itself. Without such rules it does nothing. */
export class MeasuredAlerts {
  readonly #rules: readonly MeasuredRule[];
  readonly #stop: () => void;

  constructor(options: MeasuredAlertsOptions) {
    const controls = new AlertControls(options);
    this.#rules = options.rules.flatMap((rule) => {
      const trigger = openTrigger(rule, options);
      const notify = (notice: Notice) => controls.handle(rule, options.group, notice);
      return trigger === undefined ? [] : [new MeasuredRule(trigger, notify, options)];
    });
    const compare = () => {
      for (const rule of this.#rules) rule.compare();
    };
    this.#stop = this.#rules.length === 0 ? () => {} : options.schedule(TICK_MS, compare);
  }

  async close(): Promise<void> {
    this.#stop();
    await Promise.all(this.#rules.map((rule) => rule.close()));
  }
}

interface Firing extends Pick<Notice, 'since' | 'subject'> {
  notified: Notice['state'] | undefined;
  /** When it is notified again, on the monotonic clock. */
  nextAt: number;
}

/** Notifies as Alertmanager does: when the rule is exceeded, now and then while it is, and when that is over. */
class MeasuredRule {
  readonly #trigger: Trigger;
  readonly #notify: (notice: Notice) => Promise<unknown>;
  readonly #options: Pick<MeasuredAlertsOptions, 'clock' | 'report'>;
  #firing: Firing | undefined;
  #notifying: Promise<void> | undefined;

  constructor(
    trigger: Trigger,
    notify: (notice: Notice) => Promise<unknown>,
    options: Pick<MeasuredAlertsOptions, 'clock' | 'report'>,
  ) {
    this.#trigger = trigger;
    this.#notify = notify;
    this.#options = options;
  }

  compare(): void {
    const { clock } = this.#options;
    const subject = this.#trigger.exceeded();
    if (this.#notifying !== undefined) return;
    const now = clock.monotonic();
    if (subject !== undefined) this.#firing ??= { since: clock.now(), subject, notified: undefined, nextAt: now };
    const state = subject === undefined ? 'resolved' : 'firing';
    if (this.#firing === undefined || (state === this.#firing.notified && now < this.#firing.nextAt)) return;
    Object.assign(this.#firing, { notified: state, nextAt: now + REPEAT_MS });
    this.#notifying = this.#attempt(this.#firing, state).finally(() => {
      this.#notifying = undefined;
    });
  }

  async close(): Promise<void> {
    this.#trigger.close();
    await this.#notifying;
  }

  async #attempt({ since, subject }: Firing, state: Notice['state']): Promise<void> {
    try {
      await this.#notify({ state, since, subject });
      if (state === 'resolved') this.#firing = undefined;
    } catch (error) {
      this.#options.report(error);
    }
  }
}

interface Trigger {
  /** What was measured, where it is beyond the rule: `12 % of 340 pieces of work failed in 1m`. Asked once a second. */
  exceeded(): string | undefined;
  close(): void;
}

interface TriggerOptions {
  readonly works: Pick<WorkOutcomes, 'watch'>;
  readonly host: Parameters<typeof followUncaught>[0];
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** Fewest pieces of work that make a rate: the first failure of a quiet service is no alert. */
const MIN_PIECES = 20;
const ERROR_RATE_SECONDS = 60;
/** The event-loop delay is that of the last three to six seconds: one pause is no alert. */
const LOOP_WINDOW_MS = 6000;
/** Longest time from an uncaught error to what it switches on, in milliseconds. */
const MARGIN_MS = 5000;

type When = NonNullable<AlertRule['when']>;

/** @returns `undefined` for a rule that waits for notifications */
export function openTrigger({ when, for: lasting }: AlertRule, options: TriggerOptions): Trigger | undefined {
  if (when?.errorRate !== undefined) return watchErrorRate({ ...when, errorRate: when.errorRate }, options);
  if (when?.eventLoopDelay !== undefined) return watchEventLoop(parseWorkDuration(when.eventLoopDelay)!, options);
  return when?.uncaught === true ? watchUncaught(lasting, options) : undefined;
}

function watchErrorRate(
  { errorRate: limit, over: seconds = ERROR_RATE_SECONDS, aborted }: When & { readonly errorRate: number },
  { works, clock }: TriggerOptions,
): Trigger {
  const window = new SlidingCounts(seconds * 1000, clock);
  const close = works.watch({
    ended: (piece) => {
      if (!piece.isOurs && (aborted === true || !piece.aborted)) window.count(piece.failure !== undefined);
    },
  });
  return {
    exceeded() {
      const { ended, failed } = window.sum();
      if (ended < MIN_PIECES || failed / ended < limit) return undefined;
      const percent = Number(((failed / ended) * 100).toPrecision(2));
      return `${percent} % of ${ended} pieces of work failed in ${formatDuration(seconds)}`;
    },
    close,
  };
}

function watchEventLoop(limit: number, { clock }: TriggerOptions): Trigger {
  const delay = createEventLoopDelay(LOOP_WINDOW_MS, clock);
  const began = clock.monotonic();
  return {
    exceeded() {
      delay.rotate();
      const p99 = delay.p99() ?? 0;
      // While a service starts, loading its modules blocks the event loop.
      if (clock.monotonic() - began <= LOOP_WINDOW_MS || p99 < limit) return undefined;
      return `the event loop was delayed by ${Math.round(p99)} ms`;
    },
    close: () => delay.close(),
  };
}

/** What happened once is beyond the rule until its categories have ended by their time, a moment after the error. */
function watchUncaught(seconds: number, { host, clock }: TriggerOptions): Trigger {
  let subject: string | undefined;
  let until = 0;
  const isOver = () => clock.monotonic() >= until;
  const close = followUncaught(host, (error) => {
    if (!isOver()) return;
    subject = `uncaught ${escapeUnprintable(typeOfThrown(error)).toWellFormed()}`;
    until = clock.monotonic() + seconds * 1000 + MARGIN_MS;
  });
  return { exceeded: () => (isOver() ? undefined : subject), close };
}

const SLOTS = 10;

/** How much work ended in a time that ends now, to a tenth of that time. */
class SlidingCounts {
  readonly #slotMs: number;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #slots = Array.from({ length: SLOTS }, () => ({ number: -SLOTS, ended: 0, failed: 0 }));

  constructor(milliseconds: number, clock: Pick<Clock, 'monotonic'>) {
    this.#slotMs = milliseconds / SLOTS;
    this.#clock = clock;
  }

  count(failed: boolean): void {
    const number = this.#number();
    const slot = this.#slots[number % SLOTS]!;
    if (slot.number !== number) Object.assign(slot, { number, ended: 0, failed: 0 });
    slot.ended += 1;
    if (failed) slot.failed += 1;
  }

  sum(): { readonly ended: number; readonly failed: number } {
    const oldest = this.#number() - SLOTS;
    const sum = { ended: 0, failed: 0 };
    for (const { number, ended, failed } of this.#slots) {
      if (number <= oldest) continue;
      sum.ended += ended;
      sum.failed += failed;
    }
    return sum;
  }

  #number(): number {
    return Math.floor(this.#clock.monotonic() / this.#slotMs);
  }
}
