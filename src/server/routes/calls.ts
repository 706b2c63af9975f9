import type { CallMeasurements, Measurements } from '../../metrics/types.ts';
import type { Tenancy } from '../context.ts';

/** The calls that a request may be shown: the tenant's own where tenants are kept that far apart, else everybody's. */
export function visibleCalls({ callsOf }: Tenancy, measurements: Measurements): CallMeasurements {
  return callsOf === undefined ? measurements : measurements.ofTenant(callsOf);
}

export interface CategoryMetrics {
  readonly callsTotal: number;
  readonly callsPerSecond: number;
}

export function measured(index: number, calls: CallMeasurements): CategoryMetrics {
  return { callsTotal: calls.callsTotal(index), callsPerSecond: calls.callsPerSecond(index) };
}

/** The totals are the sums of what is shown, so that the two can never disagree. */
export function totals<T>(
  shown: readonly T[],
  metricsOf: (one: T) => CategoryMetrics,
): { totalCalls: number; callsPerSecond: number } {
  const sums = { totalCalls: 0, callsPerSecond: 0 };
  for (const one of shown) {
    const { callsTotal, callsPerSecond } = metricsOf(one);
    sums.totalCalls += callsTotal;
    sums.callsPerSecond += callsPerSecond;
  }
  return sums;
}
