import type { Gate } from '../../gate/types.ts';
import type { Clock } from '../../wire/time/clock.ts';

/** Length of a step, in milliseconds. */
const STEP_MS = 15_000;
/** Steps that are kept: 15 minutes. With 4,096 categories, all of them called, they take 1 MB. */
const STEPS = 60;

/** The calls of this process in the last 15 minutes, in steps. */
export interface RecentCalls {
  /** When each step began, in seconds before now, the oldest first. The last one still runs. */
  readonly secondsAgo: readonly number[];
  /** Calls a second in each step; `undefined` for a category that was not called in any. */
  of(index: number): readonly number[] | undefined;
}

/** Calls a second of each category in steps. A category that was not called in any takes no room. */
export class CallHistory {
  readonly #gate: Pick<Gate, 'categories' | 'callsTotal'>;
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** When the kept steps and the running one began. */
  readonly #begins: number[];
  /** By category index, the oldest step first. */
  readonly #rates = new Map<number, Float32Array>();
  /** Calls before the running step, by category index. */
  #totals = new Float64Array(0);

  constructor(gate: Pick<Gate, 'categories' | 'callsTotal'>, clock: Pick<Clock, 'monotonic'>) {
    this.#gate = gate;
    this.#clock = clock;
    this.#begins = [clock.monotonic()];
  }

  /** Ends the running step once its time is over, and begins the next. */
  sample(): void {
    const now = this.#clock.monotonic();
    if (now - (this.#begins.at(-1) ?? now) < STEP_MS) return;
    const totals = new Float64Array(this.#gate.categories().length);
    for (let index = 0; index < totals.length; index += 1) {
      const rate = this.#running(index, now);
      const rates = this.#rates.get(index) ?? (rate > 0 ? new Float32Array(STEPS) : undefined);
      totals[index] = this.#gate.callsTotal(index);
      if (rates === undefined) continue;
      rates.copyWithin(0, 1);
      rates[STEPS - 1] = rate;
      if (rate > 0 || rates.some((each) => each > 0)) this.#rates.set(index, rates);
      else this.#rates.delete(index);
    }
    this.#totals = totals;
    if (this.#begins.push(now) > STEPS + 1) this.#begins.shift();
  }

  read(): RecentCalls {
    const now = this.#clock.monotonic();
    const kept = this.#begins.length - 1;
    return {
      secondsAgo: this.#begins.map((begin) => (now - begin) / 1000),
      of: (index) => {
        const rate = this.#running(index, now);
        const rates = this.#rates.get(index);
        if (rates === undefined && rate === 0) return undefined;
        return [...(rates ?? new Float32Array(STEPS)).subarray(STEPS - kept), rate];
      },
    };
  }

  #running(index: number, now: number): number {
    const seconds = (now - (this.#begins.at(-1) ?? now)) / 1000;
    return seconds > 0 ? (this.#gate.callsTotal(index) - (this.#totals[index] ?? 0)) / seconds : 0;
  }
}
