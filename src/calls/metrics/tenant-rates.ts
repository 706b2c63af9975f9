import type { TenantCalls } from '../../gate/types.ts';
import type { Clock } from '../../wire/time/clock.ts';
import { SlidingWindow } from './rates.ts';

/** Snapshots of a tenant's counts per window. Few, because there may be many tenants. */
const MARKS_PER_WINDOW = 6;

export interface TenantRatesOptions {
  readonly calls: TenantCalls;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly windowSeconds: number;
}

/** Rates of tenants over a sliding window, computed between two observed moments. */
export interface TenantRates {
  /** Takes a snapshot if enough time has passed since the last one. */
  sample(): void;
  callsPerSecond(tenantId: string, index: number): number;
}

export function createTenantRates({ calls, clock, windowSeconds }: TenantRatesOptions): TenantRates {
  const windowMs = windowSeconds * 1000;
  /** Mark 0 is the start of the process. */
  const moments = new SlidingWindow(windowMs, clock, { time: 0, mark: 0 });

  function sample(): void {
    const now = clock.monotonic();
    const { latest } = moments;
    if (latest !== undefined && now - latest.time < windowMs / MARKS_PER_WINDOW) return;
    moments.add({ time: now, mark: calls.mark(moments.oldest?.mark ?? 0) });
  }

  sample();
  return {
    sample,
    callsPerSecond(tenantId, index) {
      const { time, mark } = moments.base;
      return moments.perSecond(calls.total(tenantId, index) - calls.totalAt(tenantId, index, mark), time);
    },
  };
}
