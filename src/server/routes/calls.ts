import type { CallMeasurements, Measurements } from '../../metrics/types.ts';
import type { Tenancy } from '../steps.ts';

/** The calls that a request may see: the tenant's own under isolation, otherwise all. */
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

/** The totals are computed from the parts shown, so that they always agree. */
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
