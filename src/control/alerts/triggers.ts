import { createEventLoopDelay } from '../../calls/metrics/event-loop-delay.ts';
import type { WorkOutcomes } from '../../calls/work/outcomes.ts';
import { followUncaught } from '../../calls/work/uncaught.ts';
import { escapeUnprintable } from '../../wire/printable.ts';
import { parseWorkDuration } from '../../wire/target.ts';
import { typeOfThrown } from '../../wire/thrown.ts';
import type { Clock } from '../../wire/time/clock.ts';
import { formatDuration } from '../../wire/time.ts';
import type { AlertRule } from './alert-controls.ts';

/** What a rule watches in this process. Without any, nothing is measured. */
export interface Trigger {
  /** What was measured, where it is beyond the rule: `12 % of 340 pieces of work failed in 1m`. Asked once a second. */
  exceeded(): string | undefined;
  close(): void;
}

export interface TriggerOptions {
  readonly works: Pick<WorkOutcomes, 'watch'>;
  readonly host: Parameters<typeof followUncaught>[0];
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** Fewest pieces of work that make a rate: the first failure of a quiet service is no alert. */
const MIN_PIECES = 20;
/** Default of `over`, in seconds. */
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
