import type { Clock } from '../clock.ts';
import type { TenantCalls } from '../gate/types.ts';
import { newestOutside, perSecond } from './rates.ts';

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
  /** Oldest first. Mark 0 is the start of the process. */
  const moments: { readonly time: number; readonly mark: number }[] = [];

  function sample(): void {
    const now = clock.monotonic();
    const latest = moments.at(-1);
    if (latest !== undefined && now - latest.time < windowMs / MARKS_PER_WINDOW) return;
    for (let next = moments[1]; next !== undefined && now - next.time >= windowMs; next = moments[1]) moments.shift();
    moments.push({ time: now, mark: calls.mark(moments[0]?.mark ?? 0) });
  }

  if (clock.monotonic() <= windowMs) moments.push({ time: 0, mark: 0 });
  sample();
  return {
    sample,
    callsPerSecond(tenantId, index) {
      const now = clock.monotonic();
      const { time, mark } = newestOutside(moments, now, windowMs) ?? { time: 0, mark: 0 };
      const emitted = calls.total(tenantId, index) - calls.totalAt(tenantId, index, mark);
      return perSecond(emitted, time, now, windowMs);
    },
  };
}
