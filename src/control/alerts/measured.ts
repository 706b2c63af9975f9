import type { Clock, Schedule } from '../../wire/time/clock.ts';
import { AlertControls, type AlertControlsOptions, type AlertRule } from './alert-controls.ts';
import type { Notice } from './notice.ts';
import { openTrigger, type Trigger, type TriggerOptions } from './triggers.ts';

export interface MeasuredAlertsOptions extends AlertControlsOptions, Omit<TriggerOptions, 'clock'> {
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

/** The time in which a rule is exceeded. */
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
