import type { Rate } from '../emit/budget.ts';
import { CallMeter } from './call-meter.ts';
import { type Tapped, Tapping } from './tapping.ts';
import type { ProcessForecast, TapFilter } from './types.ts';

export interface CallMetersOptions extends Tapped {
  /** The configured budget of a category; `undefined` when unlimited. */
  readonly budgetOf: (name: string) => Rate | undefined;
  readonly now: () => number;
  /** Returns a number from 0 to 1. */
  readonly random: () => number;
}

/** Measures the calls of some categories in this process. */
export class CallMeters {
  readonly #meters = new Map<string, CallMeter>();
  readonly #tapping: Tapping;
  #milliseconds = 0;

  constructor({ budgetOf, ...options }: CallMetersOptions, { categories, tenantId }: TapFilter) {
    this.#tapping = new Tapping(options, categories, ({ name }) => {
      const meter = new CallMeter({ ...options, tenantId, categories: categories.length, budget: budgetOf(name) });
      this.#meters.set(name, meter);
      return meter;
    });
  }

  /** Called at intervals. */
  tick(milliseconds: number): void {
    this.#milliseconds += milliseconds;
    for (const meter of this.#meters.values()) meter.tick(milliseconds);
  }

  /** Taps categories that were registered since. */
  look(): void {
    this.#tapping.look();
  }

  /** What was measured up to the last tick. */
  get result(): ProcessForecast {
    return {
      seconds: Math.max(1, this.#milliseconds) / 1000,
      categories: Object.fromEntries([...this.#meters].map(([name, { result }]) => [name, result])),
    };
  }

  end(): void {
    this.#tapping.end();
  }
}
