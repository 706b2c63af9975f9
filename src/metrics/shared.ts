import type { CallsOfOthers, CategoryCalls, Counted, Measurements, SharedMeasurements } from './types.ts';

/** Adds the calls of other processes to those of this one. */
export function addCalls(own: Measurements, others: CallsOfOthers): SharedMeasurements {
  function ownCallsOf({ index }: Counted, tenantId?: string): CategoryCalls {
    const calls = tenantId === undefined ? own : own.ofTenant(tenantId);
    if (index === undefined) return { callsTotal: 0, callsPerSecond: 0 };
    return { callsTotal: calls.callsTotal(index), callsPerSecond: calls.callsPerSecond(index) };
  }
  return {
    callsOf(category, tenantId) {
      const { callsTotal, callsPerSecond } = ownCallsOf(category, tenantId);
      const { total = 0, rate = 0 } = others.of(category.name, tenantId) ?? {};
      return { callsTotal: callsTotal + total, callsPerSecond: callsPerSecond + rate };
    },
    ownCallsOf,
    countedSoFar: (category, tenantId) =>
      ownCallsOf(category, tenantId).callsTotal + (others.of(category.name, tenantId)?.seen ?? 0),
    instances: () => others.instances?.(),
    process: () => own.process(),
  };
}
